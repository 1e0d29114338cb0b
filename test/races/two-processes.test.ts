import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { auditLedger } from '../../src/ledger/audit.ts'
import type { Applied, Capture, Operation } from '../../src/ledger/operations.ts'
import { freshDatabase, type TestDatabase } from '../database.ts'
import { until } from '../until.ts'
import { amount, balanceOf, makeEconomy, reserveOf } from './economy.ts'
import { raceRepeats, repeatedRace } from './repeated.ts'
import type { RacedCall, Reply, Request } from './server-process.ts'

/** The long form: npm run test:races, 200 repetitions of each. */
const LAST_CREDITS = BigInt(raceRepeats(60))
const PAIRS = raceRepeats(100)
const BURSTS = raceRepeats(1)

/** Two servers on one database, each a process with its own lane and applier. */
let database: TestDatabase
let servers: ChildProcess[]
beforeEach(async () => {
  database = await freshDatabase()
  servers = [1, 2].map((id) =>
    fork(new URL('./server-process.ts', import.meta.url), [database.url, String(id)], {
      serialization: 'advanced',
      execArgv: [],
    }),
  )
  await Promise.all(servers.map((server) => once(server, 'message')))
})
afterEach(async () => {
  for (const server of servers) {
    server.disconnect()
    await once(server, 'exit')
  }
  await database.drop()
})

let asked = 0
async function ask<R extends Reply>(server: ChildProcess | undefined, request: Request): Promise<R> {
  if (!server) throw new Error('no such server')
  asked += 1
  const id = asked
  const { promise, resolve, reject } = Promise.withResolvers<R>()
  const listen = (message: { id: number; reply?: R; error?: string }) => {
    if (message.id !== id) return
    server.off('message', listen)
    if (message.reply) resolve(message.reply)
    else reject(new Error(message.error))
  }
  server.on('message', listen)
  server.send({ id, request })
  return promise
}
type Calls = Extract<Reply, { calls: unknown }>
/** Splits what is to be done over both servers, evenly, and joins the answers. */
async function onBoth(calls: readonly RacedCall[]): Promise<Calls['calls'][number][]> {
  const replies = await Promise.all(
    servers.map((server, n) =>
      ask<Calls>(server, { kind: 'calls', calls: calls.filter((_, index) => index % 2 === n) }),
    ),
  )
  return replies.flatMap(({ calls: answers }) => answers)
}
/** Submits one operation to each server at once, many pairs together. */
async function pairs(
  each: ReadonlyArray<readonly [Operation, Operation]>,
): Promise<Array<readonly [Applied, Applied]>> {
  const [left, right] = await Promise.all(
    servers.map((server, n) =>
      ask<{ answers: Applied[] }>(server, { kind: 'submit', operations: each.map((pair) => pair[n as 0 | 1]) }),
    ),
  )
  return each.map((_, index) => [left?.answers[index] as Applied, right?.answers[index] as Applied])
}
const captureOf = (holdId: bigint, actual: number | bigint): Capture => ({
  operation: 'capture',
  holdId,
  actualMicro: amount(actual),
  outcome: 'success',
  usage: null,
})
const audit = async () =>
  (await auditLedger(database.db)).filter((finding) => finding.check_name !== 'open_hold_without_process')
const ids = (count: number): bigint[] => Array.from({ length: count }, (_, index) => BigInt(index + 1))
const statuses = (pair: readonly [Applied, Applied]): string =>
  pair
    .map(({ status }) => status)
    .sort()
    .join(' and ')
const count = (names: readonly string[]): Record<string, number> =>
  Object.fromEntries([...Map.groupBy(names, (name) => name)].map(([name, all]) => [name, all.length]))

test('of 1,000 parallel calls by one key budgeted for 100, on two server processes, exactly 100 are charged and every other is told the numbers', async () => {
  await makeEconomy(database, 1_000_000n, 1_000n)
  const answers = await onBoth(
    ids(1_000).map((holdId) => ({ reserve: reserveOf(holdId, 10n), capture: captureOf(holdId, 10) })),
  )
  expect(answers.filter(({ capture }) => capture?.status === 'captured')).toHaveLength(100)
  const refused = answers.filter(({ capture }) => capture === undefined)
  expect(refused).toHaveLength(900)
  for (const { reserve } of refused) {
    expect(reserve).toMatchObject({
      status: 'budget_exceeded',
      amountMicro: 0n,
      detail: { budget: 'key', limit: 'total', limit_micro: 1_000, required_micro: 10 },
    })
    expect(Number(reserve.detail?.spent_micro) + Number(reserve.detail?.held_micro)).toBe(1_000)
  }
  expect(await balanceOf(database)).toEqual({ posted: 999_000n, held: 0n, charged: 1_000n })
  expect(await audit()).toEqual([])
})

test('300 parallel calls of different cost cost together what the balance falls by, and hold nothing afterwards', async () => {
  await makeEconomy(database, 1_000_000n)
  const calls = ids(300).map((holdId) => ({
    reserve: reserveOf(holdId, 500n),
    capture: captureOf(holdId, (holdId * 7919n) % 501n),
  }))
  const answers = await onBoth(calls)
  expect(count(answers.map(({ capture }) => capture?.status ?? 'refused'))).toEqual({ captured: 300 })
  const cost = calls.reduce((sum, { capture }) => sum + capture.actualMicro, 0n)
  expect(answers.reduce((sum, { capture }) => sum + (capture?.amountMicro ?? 0n), 0n)).toBe(cost)
  expect(await balanceOf(database)).toEqual({ posted: 1_000_000n - cost, held: 0n, charged: cost })
  expect(await audit()).toEqual([])
})

test('of two reserves for the last Credit, one on each server, exactly one is granted', async () => {
  await makeEconomy(database, 10n)
  for (let round = 0n; round < LAST_CREDITS; round += 1n) {
    const [one, other] = [2n * round + 1n, 2n * round + 2n]
    const [answers] = await pairs([[reserveOf(one, 10n), reserveOf(other, 10n)]])
    if (!answers) throw new Error('no answers')
    expect(statuses(answers)).toBe('insufficient_credits and reserved')
    const won = answers[0].status === 'reserved' ? one : other
    await pairs([
      [
        { operation: 'void', holdId: won, outcome: 'failed' },
        { operation: 'void', holdId: won, outcome: 'failed' },
      ],
    ])
  }
  expect(await balanceOf(database)).toEqual({ posted: 10n, held: 0n, charged: 0n })
  expect(await audit()).toEqual([])
})

test('a hold that both servers end at once has one end, which is what both are told', async () => {
  await makeEconomy(database, 1_000_000n)
  const holds = ids(4 * PAIRS)
  await ask(servers[0], { kind: 'submit', operations: holds.map((holdId) => reserveOf(holdId, 10n)) })
  const [same, other, released, unknown] = [0, 1, 2, 3].map((kind) =>
    holds.slice(kind * PAIRS, (kind + 1) * PAIRS),
  ) as [bigint[], bigint[], bigint[], bigint[]]
  const [twice, different, voided, marked] = await Promise.all([
    pairs(same.map((holdId) => [captureOf(holdId, 7), captureOf(holdId, 7)])),
    pairs(other.map((holdId) => [captureOf(holdId, 7), captureOf(holdId, 8)])),
    pairs(released.map((holdId) => [captureOf(holdId, 7), { operation: 'void', holdId, outcome: 'failed' }])),
    pairs(unknown.map((holdId) => [captureOf(holdId, 7), { operation: 'unknown', holdId, reason: 'a race' }])),
  ])
  expect(count(twice.map(statuses))).toEqual({ 'captured and captured': PAIRS })
  expect(count(different.map(statuses))).toEqual({ 'already_resolved and captured': PAIRS })
  expect(
    new Set(voided.map(statuses)).isSubsetOf(new Set(['already_resolved and captured', 'already_resolved and voided'])),
  ).toBe(true)
  // a capture always settles what was marked; a mark that came too late changes nothing
  expect(marked.map(([capture]) => capture.status)).toEqual(Array(PAIRS).fill('captured'))
  expect(
    new Set(marked.map(([, mark]) => mark.status)).isSubsetOf(new Set(['usage_unknown', 'already_resolved'])),
  ).toBe(true)

  const charged = [...twice, ...different, ...voided, ...marked].reduce(
    (sum, pair) => sum + (pair.find(({ status }) => status === 'captured')?.amountMicro ?? 0n),
    0n,
  )
  expect(await balanceOf(database)).toEqual({ posted: 1_000_000n - charged, held: 0n, charged })
  const [rows] = await database.sql<{ ends: number }>('select count(*)::int as ends from hold_resolutions')
  expect(rows?.ends).toBe(4 * PAIRS)
  expect(await audit()).toEqual([])
})

/** One more owner with Credits and a key: what becomes of them touches no other repetition. */
async function anotherOwner(credits: bigint): Promise<{ owner: bigint; key: bigint }> {
  const [row] = await database.sql<{ id: string }>(
    `insert into families (id) select max(id) + 1 from families returning id`,
  )
  const owner = BigInt(row?.id ?? 0)
  await database.sql(
    `insert into accounts (id, account_type, family_id) overriding system value values ($1, 'owner', $1)`,
    [owner],
  )
  await database.sql(
    `select ledger_grant('operator', $1::text, $1::bigint, 'promo', $2, null, 'a test', 'operator:test')`,
    [owner, credits],
  )
  const [key] = await database.sql<{ id: string }>(
    `insert into api_keys (account_id, secret_hash, prefix, last4) values ($1::bigint, decode(lpad(to_hex($1::bigint), 16, '0'), 'hex'), 'fbx_', '') returning id`,
    [owner],
  )
  return { owner, key: BigInt(key?.id ?? 0) }
}

test.each([
  ['its key is revoked', 'update api_keys set revoked_at = now() where account_id = $1', 'unauthorized'],
  ['its account is banned', `update accounts set status = 'banned' where id = $1`, 'account_banned'],
])(
  'in the middle of a burst no reserve succeeds that begins after %s',
  {
    timeout: 60_000 + BURSTS * 5_000,
  },
  async (what, statement, refusal) => {
    await makeEconomy(database, 0n)
    await repeatedRace(`a burst while ${what}`, BURSTS, ['refused from then on'], async (turn) => {
      const { owner, key } = await anotherOwner(1_000_000_000n)
      const reserve = (holdId: bigint) => ({
        ...reserveOf(BigInt(turn) * 10_000_000n + holdId, 1n),
        actorAccountId: owner,
        credential: { kind: 'api_key' as const, id: key },
      })
      const held = async () => {
        const [row] = await database.sql<{ micro: string }>(
          'select coalesce(sum(held_micro), 0) as micro from buckets where account_id = $1',
          [owner],
        )
        return BigInt(row?.micro ?? 0)
      }
      const bursts = servers.map((server, n) =>
        ask<Extract<Reply, { granted: number }>>(server, {
          kind: 'until refused',
          first: reserve(BigInt(n) * 1_000_000n + 1n),
          lanes: 40,
        }),
      )
      await until(async () => (await held()) > 200n, 'the burst is on')
      await database.sql(statement, [owner])
      const after = await pairs([[reserve(9_000_001n), reserve(9_000_002n)]])
      expect(after.flat().map(({ status }) => status)).toEqual([refusal, refusal])
      const ended = await Promise.all(bursts)
      expect(count(ended.flatMap(({ refusals }) => refusals))).toEqual({ [refusal]: 160 })
      const granted = ended.reduce((sum, burst) => sum + burst.granted, 0)
      expect(await held()).toBe(BigInt(granted))
      return 'refused from then on'
    })
    expect(await audit()).toEqual([])
  },
)
