import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { changeAgent } from '../../src/identity/links/service.ts'
import { freshDatabase, type TestDatabase } from '../database.ts'
import { ledgerFixture } from '../ledger-fixture.ts'

/** The long form: npm run test:races. */
const REPEATS = Number(process.env.FAREBOX_RACE_REPEATS ?? 1)
const LANES = 8

let database: TestDatabase
let make: ReturnType<typeof ledgerFixture>
beforeAll(async () => {
  database = await freshDatabase()
  make = ledgerFixture(database)
})
afterAll(() => database.drop())

test('a budget that is raised and cut under load is exact: what is spent is the limit, or what was spent when it was cut', {
  timeout: 1_800_000,
}, async () => {
  for (let round = 0; round < REPEATS; round++) {
    const [owner, agent] = [await make.account('owner'), await make.account('agent')]
    await make.grant(owner, 1_000_000n)
    await make.link(agent, owner, 'owner_only', { total_micro: 0n })
    const key = await make.key(agent)
    const refusals = Array.from({ length: LANES }, () => 0)
    let stopping = false
    const lanes = refusals.map(async (_, lane) => {
      while (!stopping) {
        const { id, status } = await make.hold(key, 1n)
        if (status === 'reserved') await make.capture(id, 1n)
        else {
          expect(status).toBe('budget_exceeded')
          refusals[lane] = (refusals[lane] ?? 0) + 1
        }
      }
    })
    /** Sets the limit under load; gives what the change itself saw, and what there is once nothing goes on. */
    const setTo = async (limit: bigint) => {
      const changed = await changeAgent(
        { db: database.db },
        { ownerId: owner, agentId: agent, requestId: `req_${limit}` },
        { budget: { total_micro: limit } },
      )
      const seen = changed.total_spent_micro + changed.total_held_micro
      const before = [...refusals]
      // a refusal may have begun before the change; the one after it has not
      await vi.waitFor(() => expect(refusals.every((count, lane) => count >= (before[lane] ?? 0) + 2)).toBe(true), {
        timeout: 120_000,
        interval: 1,
      })
      const [row] = await database.sql<{ used: string }>(
        `select w.spent_micro + w.held_micro as used from budget_windows w join agent_links l using (budget_id) where l.agent_account_id = $1 and window_kind = 'total'`,
        [agent],
      )
      return { seen, used: BigInt(row?.used ?? 0) }
    }
    try {
      for (const limit of [40n, 15n, 70n, 69n, 71n, 100n]) {
        const { seen, used } = await setTo(limit)
        expect(used).toBe(seen > limit ? seen : limit)
      }
      // cut while it is being spent: where it stands then, it stays
      const raised = changeAgent(
        { db: database.db },
        { ownerId: owner, agentId: agent, requestId: 'req_raised' },
        { budget: { total_micro: 10_000n } },
      )
      await raised
      const cut = await setTo(120n)
      expect(cut.used).toBe(cut.seen > 120n ? cut.seen : 120n)
    } finally {
      stopping = true
      await Promise.all(lanes)
    }
  }
  expect(await database.sql(`select * from ledger_audit() where check_name <> 'open_hold_without_process'`)).toEqual([])
})
