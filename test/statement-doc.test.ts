import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ledgerFixture } from './ledger-fixture.ts'
import { type SignedInPerson, startServers, type TestServers } from './servers.ts'
import { named, snippetsOf } from './snippets.ts'

const run = promisify(execFile)
const bin = fileURLToPath(new URL('../bin', import.meta.url))
let servers: TestServers
let owner: SignedInPerson
let folder: string
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'farebox-statement-'))
  servers = await startServers()
  const make = ledgerFixture(servers.database)
  owner = await servers.owner()
  await servers.grant(owner.accountId, 1_000n)
  const key = await make.key(owner.accountId)
  await make.capture((await make.hold(key, 100n)).id, 60n, { outcome: 'failed' })
  const { id } = await make.hold(key, 100n)
  await make.capture(id, 25n, { outcome: 'failed' })
  await servers.database.sql(`select * from ledger_refund($1, $2, 'a test')`, [id, owner.accountId])
})
afterAll(async () => {
  await servers.stop()
  rmSync(folder, { recursive: true, force: true })
})

async function shell(page: string, name: string, more: Record<string, string> = {}): Promise<string> {
  const snippet = named(await snippetsOf(new URL(`../docs/${page}.md`, import.meta.url)), name)
  const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', snippet], {
    cwd: folder,
    env: {
      PATH: `${bin}:${process.env.PATH ?? ''}`,
      FAREBOX_URL: servers.urls[0] ?? '',
      TOKEN: owner.accessToken,
      DATABASE_URL: servers.database.url,
      FAREBOX_DATA: folder,
      ...more,
    },
  })
  return stdout
}

test('the page about statements runs as it stands, over a real server, and its three views add up', async () => {
  const balance = JSON.parse(await shell('statement', 'balance'))
  const statement = JSON.parse(await shell('statement', 'statement'))
  expect(statement).toMatchObject({ opening_micro: 0, closing_micro: balance.balance_micro })
  expect(balance.balance_micro).toBe(940)
  const [head, ...rows] = (await shell('statement', 'csv')).trimEnd().split('\r\n')
  const column = head?.split(',').indexOf('amount_micro') ?? -1
  expect(rows.reduce((sum, row) => sum + Number(row.split(',')[column]), 0)).toBe(940)
  expect(JSON.parse(await shell('statement', 'usage')).data).toMatchObject([
    { actor_account_id: Number(owner.accountId), charged_micro: 85, refunded_micro: 25 },
  ])
})

test('the page about the export runs as it stands: a file is written, verified, compared with its hash and summed', async () => {
  // the page exports a month that is over
  await servers.database.sql('alter table transfers disable trigger append_only')
  await servers.database.sql(`update transfers set moved_at = '2026-01-15'`)
  await servers.database.sql('alter table transfers enable trigger append_only')
  const said = await shell('accounting-export', 'export')
  expect(said).toMatch(/^4 movements of 1 accounts are in january.jsonl\.\n/)
  expect(said).toMatch(/The file is whole: 4 movements of 1 accounts/)
  const hash = /Hash of the chain: ([0-9a-f]{64})/.exec(said)?.[1] ?? ''
  expect(await shell('accounting-export', 'hash', { HASH: hash })).toContain(hash)
  expect(await shell('accounting-export', 'sum')).toBe('demo 60\n')
})
