import { expect } from 'vitest'
import { freshDatabase } from '../../../test/database.ts'
import { ledgerFixture, readingServer, signedIn } from '../../../test/ledger-fixture.ts'
import type { Caller } from '../../kernel/caller.ts'
import { settlementRoutes } from './routes.ts'

/** A server of the settlements, and what tests do with it. `close` drops its database. */
export async function openSettlements() {
  const database = await freshDatabase()
  const make = ledgerFixture(database)
  const server = readingServer(
    settlementRoutes({ db: database.db, paymentHint: () => ({ topup_url: 'https://x/topup' }) }),
  )
  return {
    database,
    make,
    server,
    list: async (viewer: bigint, query = '') =>
      (await server.get(signedIn(viewer), `/v1/credits/settlements${query}`)).body,
    authorize: (viewer: bigint, requestId: string) =>
      server.post(signedIn(viewer), `/v1/credits/settlements/${requestId}/authorize`),
    /** What an account owns and holds. */
    posted: async (account: bigint) => {
      const rows = await database.sql<{ posted: string; held: string }>(
        'select sum(posted_micro) as posted, sum(held_micro) as held from buckets where account_id = $1',
        [account],
      )
      return rows.map(({ posted, held }) => [Number(posted), Number(held)])[0]
    },
    /** An Agent with 30 of its own under an owner with 1,000, of which the link lets it spend 500. */
    family: async () => {
      const [owner, agent] = [await make.account('owner'), await make.account('agent')]
      await make.grant(owner, 1_000n)
      await make.grant(agent, 30n)
      await make.link(agent, owner, 'self_then_owner', { total_micro: 500n })
      return { owner, agent, key: await make.key(agent) }
    },
    /** A call held with 30 of the Agent and 70 of its owner that cost 150: 15 more of the one and 35 of the other. */
    shortfall: async (key: Caller) => {
      const { id } = await make.hold(key, 100n)
      expect((await make.capture(id, 150n, { outcome: 'failed' })).status).toBe('shortfall')
      return { id, requestId: `req_${id}` }
    },
    unlink: async (agent: bigint) => {
      await database.sql('delete from agent_links where agent_account_id = $1', [agent])
      await database.sql('update accounts set family_id = id where id = $1', [agent])
    },
    /** After each test: nothing is wrong anywhere. */
    allIsWell: async () => {
      const found = await database.sql(`select * from ledger_audit() where check_name <> 'open_hold_without_process'`)
      expect([found, server.faults]).toEqual([[], []])
    },
    close: () => database.drop(),
  }
}
