import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { generatePrivateKey } from 'viem/accounts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startServers, type TestServers } from '../../../test/servers.ts'

let servers: TestServers
beforeAll(async () => {
  servers = await startServers()
})
afterAll(() => servers.stop())

const page = readFileSync('docs/agent-sign-in.md', 'utf8')
const [, program = ''] = /```js\n([\s\S]*?)```/.exec(page) ?? []

/** Runs the program of the page as a process of its own, with nothing but its two settings. */
const run = (privateKey: string) =>
  promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program], {
    env: { FAREBOX_URL: servers.urls[0] ?? '', AGENT_PRIVATE_KEY: privateKey },
  })

test('the documented program signs an unknown wallet in with nothing but viem, and after a grant its call is billed', async () => {
  expect([...program.matchAll(/from '([^']+)'/g)].map(([, name]) => name)).toEqual(['viem/accounts'])
  const privateKey = generatePrivateKey()
  const poor = await run(privateKey).then(
    () => undefined,
    (failed: { stdout: string; stderr: string }) => failed,
  )
  expect(poor?.stdout).toMatch(/^signed in as account \d+\nfirst API key: fbx_\w{36}\n$/)
  expect(poor?.stderr).toContain('insufficient_credits')
  const accountId = BigInt(/account (\d+)/.exec(poor?.stdout ?? '')?.[1] ?? 0)
  await servers.grant(accountId, 1_000_000n)
  const { stdout } = await run(privateKey)
  expect(stdout).toMatch(
    new RegExp(`^signed in as account ${accountId}\\n[\\s\\S]+\\ncharged [1-9]\\d* microcredits, \\d+ left\\n$`),
  )
  const [row] = await servers.database.sql<{ spent: string }>(
    "select sum(amount_micro) as spent from transfers where account_id = $1 and kind = 'capture'",
    [accountId],
  )
  const [, charged, left] = /charged (\d+) microcredits, (\d+) left/.exec(stdout) ?? []
  expect([Number(row?.spent), 1_000_000 - Number(row?.spent)]).toEqual([Number(charged), Number(left)])
})
