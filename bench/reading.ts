import { sql } from 'kysely'
import { AFTER_EVERY_ID } from '../src/billing/calls/store.ts'
import { statementPage } from '../src/billing/credits/service.ts'
import { listSettlements } from '../src/billing/settlements/service.ts'
import type { Caller } from '../src/kernel/caller.ts'
import { auditRecent } from '../src/ledger/audit.ts'
import { type Economy, once } from './database.ts'
import type { Measured, Scenario, Tools } from './scenario.ts'
import { median } from './statistics.ts'

/** Calls that a small ledger has, and settlements that each of the ledgers has: some pages of either. */
const SMALL_ROWS = 200
const SETTLEMENTS = 120
const PAGE = 50
/** Pages of either kind for each audit. */
const READS = 50
/** Calls that are new in an audited increment. */
const NEW_CALLS = 1000

/** What is read from a ledger without a server: pages that people open, and the audit of what is new. */
export const reading: Scenario = {
  name: 'reading',
  title: `A page of a statement, a page of settlements, the audit of ${NEW_CALLS} new calls, one after another: a ledger of ${SMALL_ROWS} calls, or a full one`,
  profile: 'mock-0ms',
  stream: false,
  prepare: prepareReading,
  contenders: [
    { name: 'empty', side: 'farebox', accounts: 1, history: SMALL_ROWS },
    { name: 'full', side: 'farebox', accounts: 1, history: true },
  ],
  columns: ['statement p50 ms', 'settlements p50 ms', 'audit p50 ms'],
  measure: measureReading,
  goals: ['statement', 'settlements', 'audit'].map((what) => ({
    what: `${what}, full / empty`,
    value: ({ full, empty }) => {
      const [over, under] = [full?.[`${what} p50 ms`], empty?.[`${what} p50 ms`]]
      return over === undefined || under === undefined ? undefined : over / under
    },
    bound: { atMost: 1.2 },
    judgedBy: 'median',
    unit: '',
  })),
}

/** Gives the first account settlements to list, and starts audits of increments from here. */
async function prepareReading(economy: Economy): Promise<void> {
  const caller = await firstCaller(economy)
  await reserve(economy, caller, SETTLEMENTS, 'open', (id) => [{ operation: 'unknown', id, reason: 'benchmark' }])
  await once(
    economy.url,
    'insert into audit_open_holds select id from holds h where not exists (select from hold_resolutions r where r.hold_id = h.id)',
    'update audit_progress set audited_until = clock_timestamp()',
    'update closed_time set closed_until = clock_timestamp()',
  )
}

/** Reads and audits in turn, again and again, so that a slow second meets all three. */
async function measureReading({ economy, seconds }: Tools): Promise<Measured> {
  if (!economy) throw new Error('there is no ledger to read')
  const caller = await firstCaller(economy)
  const times = { statement: [] as number[], settlements: [] as number[], audit: [] as number[] }
  const timed = async (what: keyof typeof times, work: () => Promise<void>): Promise<void> => {
    const began = performance.now()
    await work()
    times[what].push(performance.now() - began)
  }
  for (const end = performance.now() + seconds * 1000; performance.now() < end; ) {
    for (let n = 0; n < READS; n += 1) {
      await timed('statement', () => readStatement(economy, caller))
      await timed('settlements', () => readSettlements(economy, caller))
    }
    await makeCalls(economy, caller)
    await timed('audit', () => auditIncrement(economy))
  }
  const metrics = Object.fromEntries(Object.entries(times).map(([what, of]) => [`${what} p50 ms`, median(of)]))
  // no calls are made through a server: there is nothing to be answered
  return { metrics, answered: 0, notAnswered: 0, cutOff: 0 }
}

async function readStatement({ db }: Economy, caller: Caller): Promise<void> {
  const page = await statementPage({ db }, caller, { fromId: 0n, beforeId: AFTER_EVERY_ID }, PAGE)
  if (page.movements.length !== PAGE) throw new Error('the statement has no full page')
}

async function readSettlements({ db }: Economy, caller: Caller): Promise<void> {
  const page = await listSettlements({ db, paymentHint: () => ({}) }, caller, { all: false, beforeId: 0n, limit: PAGE })
  if (page.rows.length !== PAGE) throw new Error('the settlements have no full page')
}

async function makeCalls(economy: Economy, caller: Caller): Promise<void> {
  await reserve(economy, caller, NEW_CALLS, `audited_${performance.now()}`, (id) => [
    { operation: 'capture', id, actual_micro: 80, outcome: 'success', usage: {} },
  ])
  // nobody else writes: no margin is needed, and the second call closes what the first proposed
  for (const _ of [1, 2]) await sql`select ledger_close_time(interval '0')`.execute(economy.db)
}

async function auditIncrement({ db }: Economy): Promise<void> {
  const findings = await auditRecent(db)
  if (findings.length > 0) throw new Error(`the audit found ${JSON.stringify(findings.slice(0, 3))}`)
}

async function firstCaller(economy: Economy): Promise<Caller> {
  const [account] = economy.accounts
  if (!account) throw new Error('the economy has no accounts')
  const { rows } = await sql<{ id: bigint }>`select id from api_keys where account_id = ${account.id}`.execute(
    economy.db,
  )
  return { accountId: account.id, credential: { kind: 'api_key', id: rows[0]?.id ?? 0n } }
}

/** Holds for so many calls, and what is to become of each. */
async function reserve(
  economy: Economy,
  caller: Caller,
  count: number,
  name: string,
  then: (id: number) => readonly object[],
): Promise<void> {
  const { rows } = await sql<{ id: bigint }>`select nextval('hold_ids') as id`.execute(economy.db)
  const first = Number(rows[0]?.id ?? 0n)
  const ids = Array.from({ length: count }, (_, n) => first + n)
  const reserves = ids.map((id) => ({
    operation: 'reserve',
    id,
    request_id: `${name}_${id}`,
    actor_account_id: Number(caller.accountId),
    credential_kind: 'api_key',
    credential_id: Number(caller.credential.id),
    wanted_micro: 320,
    minimum_micro: 320,
    category: 'chat',
    subject: 'mock-0ms',
  }))
  for (const operations of [reserves, ids.flatMap(then)])
    await sql`select count(*) from ledger_apply(${JSON.stringify(operations)}::json)`.execute(economy.db)
}
