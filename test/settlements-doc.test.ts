import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import * as accounts from '../src/identity/accounts/store.ts'
import { ledgerFixture } from './ledger-fixture.ts'
import { startServers, type TestServers } from './servers.ts'
import { named, type Snippet, snippetsOf } from './snippets.ts'

const run = promisify(execFile)
let servers: TestServers
let page: Snippet[]
let make: ReturnType<typeof ledgerFixture>
beforeAll(async () => {
  page = await snippetsOf(new URL('../docs/settlements-and-refunds.md', import.meta.url))
  servers = await startServers()
  make = ledgerFixture(servers.database)
})
afterAll(() => servers.stop())

async function shell(name: string, environment: Record<string, string>) {
  const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', named(page, name)], {
    env: { PATH: process.env.PATH ?? '', FAREBOX_URL: servers.urls[0] ?? '', ...environment },
  })
  return JSON.parse(stdout)
}

test('the page about settlements and refunds runs as it stands, over a real server: list, authorize, refund, list', async () => {
  const [owner, agent] = [await servers.owner(), await servers.signIn()]
  await servers.database.db.transaction().execute((tx) =>
    accounts.link(tx, {
      agentId: agent.accountId,
      ownerId: owner.accountId,
      billingMode: 'owner_only',
      budget: accounts.UNLIMITED,
    }),
  )
  await servers.grant(owner.accountId, 1_000n)
  const { id } = await make.hold(await make.key(agent.accountId), 100n)
  await make.capture(id, 150n, { outcome: 'failed' })
  const environment = {
    OWNER_TOKEN: owner.accessToken,
    AGENT_TOKEN: agent.accessToken,
    REQUEST_ID: `req_${id}`,
    CALL_ID: String(id),
  }
  expect((await shell('list', environment)).data).toMatchObject([
    { request_id: `req_${id}`, can_authorize: true, shortfall_micro: 50 },
  ])
  expect((await shell('authorize', environment)).data).toMatchObject({ status: 'settled', authorized: true })
  expect(await shell('apply', environment)).toMatchObject({ status: 'completed', refund: { amount_micro: 150 } })
  expect(await shell('refunds', environment)).toMatchObject({ total: 1, refunds: [{ status: 'completed' }] })
  const balance = await servers.send('GET', '/v1/credits/balance', { token: owner.accessToken })
  expect(balance.json.balance_micro).toBe(1_000)
  expect(await servers.database.sql('select * from ledger_audit()')).toEqual([])
})
