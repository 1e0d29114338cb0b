import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../../test/database.ts'
import { ledgerFixture, readingServer } from '../../../test/ledger-fixture.ts'
import type { Caller } from '../../kernel/caller.ts'
import { systemClock } from '../../kernel/clock.ts'
import { auditLedger } from '../../ledger/audit.ts'
import { creditRoutes } from '../credits/routes.ts'
import { usageRoutes } from './routes.ts'

let database: TestDatabase
let make: ReturnType<typeof ledgerFixture>
let http: ReturnType<typeof readingServer>
beforeAll(async () => {
  database = await freshDatabase()
  make = ledgerFixture(database)
  http = readingServer([...creditRoutes({ db: database.db }), ...usageRoutes({ db: database.db, clock: systemClock })])
})
afterAll(() => database.drop())

interface Movement {
  readonly id: number
  readonly kind: string
  readonly amount_micro: number
  readonly balance_after_micro: number
}

const DAY_MS = 86_400_000
const START = Date.UTC(2026, 0, 1)
const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0)
const query = (range: { from?: number; to?: number }) =>
  Object.entries(range)
    .map(([name, time]) => `${name}=${new Date(time as number).toISOString()}`)
    .join('&')

/** Every page of a range, each checked by itself and against the one before. */
async function statement(caller: Caller, range: { from?: number; to?: number }, limit: number) {
  const data: Movement[] = []
  let closing: number | undefined
  let opening: number | undefined
  for (let before = 0; ; ) {
    const { body } = await http.get(caller, `/v1/credits/ledger?limit=${limit}&before_id=${before}&${query(range)}`)
    expect(body.opening_micro + sum(body.data.map((row: Movement) => row.amount_micro))).toBe(body.closing_micro)
    if (opening !== undefined) expect(body.closing_micro).toBe(opening)
    closing ??= body.closing_micro
    opening = body.opening_micro as number
    data.push(...body.data)
    before = body.next_cursor
    if (before === 0) return { opening, closing: closing as number, data }
  }
}

/** The rows of the CSV of a range: id, kind, amount and balance. */
async function csv(caller: Caller, range: { from?: number; to?: number }): Promise<Movement[]> {
  const { text } = await http.get(caller, `/v1/credits/ledger?${query(range)}`, { accept: 'text/csv' })
  return text
    .trimEnd()
    .split('\r\n')
    .slice(1)
    .map((row) => {
      const [id, , kind, amount, , balance] = row.split(',')
      return { id: Number(id), kind: kind ?? '', amount_micro: Number(amount), balance_after_micro: Number(balance) }
    })
}

const step = fc.record({
  kind: fc.constantFrom('grant', 'grant', 'capture', 'capture', 'capture', 'above', 'release', 'unknown', 'open'),
  agent: fc.boolean(),
  amount: fc.integer({ min: 1, max: 500 }),
  part: fc.integer({ min: 0, max: 100 }),
  bucket: fc.constantFrom('promo', 'bonus', 'purchased'),
  minutesLater: fc.integer({ min: 0, max: 3000 }),
})

type Step = { kind: string; agent: boolean; amount: number; part: number; bucket: string; minutesLater: number }

/** Runs a history of an owner and its Agent, then spreads its movements over weeks, some of them out of order. */
async function live(steps: readonly Step[]) {
  const [agent, owner] = [await make.account('agent'), await make.account('owner')]
  await make.link(agent, owner, 'self_then_owner', {})
  const keys = { agent: await make.key(agent), owner: await make.key(owner) }
  for (const { kind, agent: byAgent, amount, part, bucket } of steps) {
    if (kind === 'grant') {
      await make.grant(byAgent ? agent : owner, BigInt(amount) * 3n, { bucket: bucket as 'promo' })
      continue
    }
    const { id, status } = await make.hold(byAgent ? keys.agent : keys.owner, BigInt(amount), {
      minimum: 1n,
      model: bucket,
    })
    if (status !== 'reserved') continue
    if (kind === 'capture')
      await make.capture(id, BigInt(Math.floor((amount * part) / 100 / 2)), {
        outcome: part % 3 ? 'success' : 'failed',
      })
    if (kind === 'above') await make.capture(id, BigInt(amount + part))
    if (kind === 'release') await make.release(id)
    if (kind === 'unknown') await make.unknown(id)
  }
  const rows = await database.sql<{ id: string }>('select id from transfers where account_id in ($1, $2) order by id', [
    agent,
    owner,
  ])
  let at = START
  const times = rows.map((_, index) => {
    const next = steps[index % steps.length]
    at += (next?.minutesLater ?? 0) * 60_000
    // a transaction that waited for its lock is stamped earlier than the one that went before it
    return new Date(at - (next?.part ?? 0) * 1000).toISOString()
  })
  await database.sql('alter table transfers disable trigger append_only')
  await database.sql(
    'update transfers t set moved_at = x.at from unnest($1::bigint[], $2::timestamptz[]) x (id, at) where t.id = x.id',
    [rows.map((row) => row.id), times],
  )
  await database.sql('alter table transfers enable trigger append_only')
  return { callers: [keys.agent, keys.owner], end: at }
}

test('opening and movements make closing on every page and over every range, in JSON, in CSV and in usage', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 1, maxLength: 40 }),
      fc.array(fc.integer({ min: 0, max: 1000 }), { minLength: 2, maxLength: 4 }),
      fc.integer({ min: 1, max: 9 }),
      async (steps, cuts, limit) => {
        const { callers, end } = await live(steps)
        for (const caller of callers) {
          const whole = await statement(caller, {}, limit)
          expect(whole.opening).toBe(0)
          expect(await csv(caller, {})).toMatchObject(
            whole.data.map(({ id, kind, amount_micro, balance_after_micro }) => ({
              id,
              kind,
              amount_micro,
              balance_after_micro,
            })),
          )
          const { body: balance } = await http.get(caller, '/v1/credits/balance')
          expect(whole.closing).toBe((balance.self_account ?? balance).balance_micro)

          // cut anywhere, the ranges still make the whole: nothing twice, nothing lost
          const moments = [
            ...new Set(cuts.map((cut) => START - 1 + Math.floor(((end - START + DAY_MS) * cut) / 1000))),
          ].sort((a, b) => a - b)
          const ranges = [undefined, ...moments].map((from, index) => ({
            ...(from ? { from } : {}),
            ...(moments[index] ? { to: moments[index] } : {}),
          }))
          const parts = []
          for (const range of ranges) {
            const part = await statement(caller, range, limit)
            parts.push(part)
            expect((await csv(caller, range)).map((row) => row.id)).toEqual(part.data.map((row) => row.id))
            if (!('from' in range) || !('to' in range) || range.to - range.from > 366 * DAY_MS) continue
            const captured = sum(part.data.filter((row) => row.kind === 'capture').map((row) => 0 - row.amount_micro))
            for (const by of ['day', 'model', 'agent', 'key', 'day,model']) {
              const { body: used } = await http.get(caller, `/v1/usage?group_by=${by}&${query(range)}`)
              expect(used.totals.charged_micro).toBe(captured)
              expect(sum(used.data.map((row: { charged_micro: number }) => row.charged_micro))).toBe(captured)
            }
          }
          expect(parts.reverse().flatMap((part) => part.data.map((row) => row.id))).toEqual(
            whole.data.map((row) => row.id),
          )
          for (const [index, part] of parts.entries()) expect(part.opening).toBe(parts[index + 1]?.closing ?? 0)
        }
      },
    ),
    { numRuns: 12 },
  )
  expect(
    (await auditLedger(database.db)).filter((finding) => finding.check_name !== 'open_hold_without_process'),
  ).toEqual([])
  expect(http.faults).toEqual([])
})
