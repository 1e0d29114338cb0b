import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../../test/database.ts'
import { readingServer } from '../../../test/ledger-fixture.ts'
import type { Caller } from '../../kernel/caller.ts'
import { systemClock } from '../../kernel/clock.ts'
import { auditLedger } from '../../ledger/audit.ts'
import { creditRoutes } from '../credits/routes.ts'
import { type Lived, live, steps } from './histories.fixture.ts'
import { rollUpUsage } from './roll-up/service.ts'
import { usageRoutes } from './routes.ts'

/** How many histories are lived: `npm run test:statements` asks for 10,000, of which FAREBOX_STATEMENT_SEED picks others. */
const HISTORIES = Number(process.env.FAREBOX_STATEMENT_HISTORIES ?? 40)
const SEED = Number(process.env.FAREBOX_STATEMENT_SEED ?? Date.now() % 2 ** 31)

/** The long form takes half an hour: it says how far it is. */
const PROGRESS_EVERY = 500

let database: TestDatabase
let http: ReturnType<typeof readingServer>
beforeAll(async () => {
  database = await freshDatabase()
  http = readingServer([...creditRoutes({ db: database.db }), ...usageRoutes({ db: database.db, clock: systemClock })])
})
afterAll(() => database.drop())

type Row = Readonly<Record<string, string>>
interface Range {
  readonly from?: number
  readonly to?: number
}

const sum = (rows: readonly Row[], kind?: string) =>
  rows.filter((row) => !kind || row.kind === kind).reduce((total, row) => total + Number(row.amount_micro), 0)
const query = (range: Range) =>
  Object.entries(range)
    .map(([name, time]) => `${name}=${new Date(time).toISOString()}`)
    .join('&')

/** Every page of a range, each checked by itself and against the one before. */
async function pages(caller: Caller, range: Range, limit: number) {
  const ids: number[] = []
  let closing: number | undefined
  let opening: number | undefined
  for (let before = 0; ; ) {
    const { body } = await http.get(caller, `/v1/credits/ledger?limit=${limit}&before_id=${before}&${query(range)}`)
    expect(body.opening_micro + sum(body.data)).toBe(body.closing_micro)
    if (opening !== undefined) expect(body.closing_micro).toBe(opening)
    closing ??= body.closing_micro as number
    opening = body.opening_micro as number
    ids.push(...body.data.map((row: { id: number }) => row.id))
    before = body.next_cursor
    if (before === 0) return { opening, closing, ids }
  }
}

/** The CSV of a range by its own head. */
async function csv(caller: Caller, range: Range): Promise<Row[]> {
  const { text } = await http.get(caller, `/v1/credits/ledger?${query(range)}`, { accept: 'text/csv' })
  const [head = [], ...rows] = text
    .trimEnd()
    .split('\r\n')
    .map((row) => row.split(','))
  return rows.map((row) => Object.fromEntries(row.map((cell, column) => [head[column] ?? '', cell])))
}

/** Captures and refunds of a file by some of its columns, as usage shows them. */
function grouped(rows: readonly Row[], columns: readonly string[]) {
  const groups = new Map<string, { charged: number; refunded: number }>()
  for (const row of rows) {
    if (row.kind !== 'capture' && row.kind !== 'refund') continue
    const name = columns.map((column) => row[column]).join(' ')
    const group = groups.get(name) ?? { charged: 0, refunded: 0 }
    if (row.kind === 'capture') group.charged -= Number(row.amount_micro)
    else group.refunded += Number(row.amount_micro)
    groups.set(name, group)
  }
  return Object.fromEntries([...groups].sort())
}

interface Used {
  readonly data: ReadonlyArray<Readonly<Record<string, number | string | null>>>
  readonly totals: Readonly<Record<string, number>>
}
const use = async (caller: Caller, range: Range, by: string): Promise<Used> =>
  (await http.get(caller, `/v1/usage?group_by=${by}&${query(range)}`)).body

/** Charges and refunds of usage by the groups that `grouped` makes. */
function moneyOf({ data }: Used, names: readonly string[]) {
  return Object.fromEntries(
    data
      .filter((row) => row.charged_micro !== 0 || row.refunded_micro !== 0)
      .map((row) => [
        names.map((name) => row[name] ?? '').join(' '),
        { charged: row.charged_micro, refunded: row.refunded_micro },
      ])
      .sort(),
  )
}

const dimensions = [
  { by: 'agent,key', columns: ['actor_account_id', 'key_id'], names: ['actor_account_id', 'key_id'] },
  { by: 'model', columns: ['model'], names: ['model'] },
  { by: 'model,agent', columns: ['model', 'actor_account_id'], names: ['model', 'actor_account_id'] },
]

/** Checks one account's statement over a history and over the ranges that `moments` cut it into; gives usage by day. */
async function check(
  caller: Caller,
  { start, end }: Lived,
  { moments, limit }: { moments: readonly number[]; limit: number },
) {
  const whole = await pages(caller, {}, limit)
  expect(whole.opening).toBe(0)
  const file = await csv(caller, {})
  expect(file.map((row) => Number(row.id))).toEqual(whole.ids)
  expect(sum(file)).toBe(whole.closing)
  const [owned] = await database.sql<{ posted: string }>('select account_posted_micro($1) as posted', [
    caller.accountId,
  ])
  expect(whole.closing).toBe(Number(owned?.posted))

  // cut anywhere, the ranges still make the whole: nothing twice, nothing lost
  const edges = [start - 1, ...moments, end + 1000]
  const ranges = edges.slice(1).map((to, index) => ({ from: edges[index] ?? 0, to }))
  const parts: Row[][] = []
  let opening = 0
  for (const [index, range] of ranges.entries()) {
    const rows = await csv(caller, range)
    parts.push(rows)
    const part = await pages(caller, range, limit * 10)
    expect(part.ids).toEqual(rows.map((row) => Number(row.id)))
    expect(part.opening).toBe(opening)
    opening = part.closing
    const { by, columns, names } = dimensions[(index + limit) % dimensions.length] as (typeof dimensions)[number]
    const used = await use(caller, range, by)
    expect(moneyOf(used, names)).toEqual(grouped(rows, columns))
    expect(used.totals.charged_micro).toBe(0 - sum(rows, 'capture'))
    expect(used.totals.refunded_micro).toBe(sum(rows, 'refund'))
  }
  expect(
    parts
      .reverse()
      .flat()
      .map((row) => Number(row.id)),
  ).toEqual(whole.ids)
}

test('a movement is in the ranges that its time is in: from belongs to a range, to does not', async () => {
  const nth = 99_999
  const grants = Array.from({ length: 7 }, () => ({ kind: 'grant', who: 0, amount: 1, part: 0, which: 0 }) as const)
  const { callers, start } = await live(
    database,
    nth,
    grants.map((grant) => ({ ...grant, bucket: 'bonus', minutesLater: 10 })),
  )
  const owner = callers[0] as Caller
  const at = (n: number) => start + n * 600_000
  for (let n = 1; n <= 7; n++) {
    const [row, ...others] = await csv(owner, { from: at(n), to: at(n) + 1 })
    expect([row?.created_at, others]).toEqual([new Date(at(n)).toISOString(), []])
    expect(await csv(owner, { from: at(n) + 1, to: at(n + 1) })).toEqual([])
    expect(await csv(owner, { from: start, to: at(n) })).toHaveLength(n - 1)
  }
})

test(
  'opening and movements make closing on every page and over every range, in JSON, in CSV and in usage, by account, Agent and key',
  async () => {
    let nth = 0
    await fc.assert(
      fc.asyncProperty(
        steps,
        fc.array(fc.integer({ min: 0, max: 1000 }), { minLength: 3, maxLength: 3 }),
        fc.integer({ min: 3, max: 9 }),
        async (history, cuts, limit) => {
          const lived = await live(database, nth++, history)
          const [rolled = 0, ...moments] = cuts.map(
            (cut) => lived.start + Math.floor(((lived.end - lived.start) * cut) / 1000),
          )
          const edges = [...new Set(moments)].sort((a, b) => a - b)
          await database.sql('update usage_rolled set rolled_until = $1', [new Date(lived.start)])
          for (const caller of lived.callers) await check(caller, lived, { moments: edges, limit })

          // what is rolled up and what is read live make the same as all of it read live
          const range = { from: edges[0] ?? lived.start, to: lived.end + 1000 }
          const by = ['day', 'day,model', 'day,agent', 'day,key'][limit % 4] ?? 'day'
          const asked = lived.callers.map(
            (caller, index) => () => use(caller, index === limit % 3 ? range : { ...range, from: lived.start - 1 }, by),
          )
          const before = []
          for (const ask of asked) before.push({ ...(await ask()), request_id: '' })
          for (const until of [rolled, lived.end + 3_600_000]) {
            await rollUpUsage(database.db, new Date(until))
            for (const [index, ask] of asked.entries())
              expect({ ...(await ask()), request_id: '' }).toEqual(before[index])
          }
          if (nth % PROGRESS_EVERY === 0) process.stdout.write(`statements: ${nth} of ${HISTORIES} histories\n`)
        },
      ),
      // a smaller history that fails is looked for by hand, with the seed that is told: each costs a database's work
      { seed: SEED, numRuns: HISTORIES, endOnFailure: true },
    )
    process.stdout.write(`statements: seed ${SEED}, ${HISTORIES} histories, all add up\n`)
    // the histories have no server and no orders: nothing but the ledger's own numbers
    const foreign = ['open_hold_without_process', 'review_hold']
    expect((await auditLedger(database.db)).filter(({ check_name }) => !foreign.includes(check_name))).toEqual([])
    expect(http.faults).toEqual([])
  },
  300_000 + HISTORIES * 3000,
)
