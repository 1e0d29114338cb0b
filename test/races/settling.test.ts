import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { Caller } from '../../src/kernel/caller.ts'
import { refundCall } from '../../src/ledger/refunds.ts'
import { authorizeSettlement } from '../../src/ledger/settlements.ts'
import { ledgerTransaction } from '../../src/ledger/transaction.ts'
import { freshDatabase, type TestDatabase } from '../database.ts'
import { ledgerFixture } from '../ledger-fixture.ts'

/** The long form: npm run test:races, 200 repetitions of each. */
const REPEATS = Number(process.env.FAREBOX_RACE_REPEATS ?? 6)

let database: TestDatabase
let make: ReturnType<typeof ledgerFixture>
beforeAll(async () => {
  database = await freshDatabase()
  make = ledgerFixture(database)
})
afterEach(async () => {
  expect(await database.sql(`select * from ledger_audit() where check_name <> 'open_hold_without_process'`)).toEqual([])
})
afterAll(() => database.drop())

/** Runs a race so often, and says how often it came out which way. */
async function repeated(title: string, race: () => Promise<string>): Promise<Record<string, number>> {
  const outcomes = new Map<string, number>()
  for (let n = 0; n < REPEATS; n++) {
    const outcome = await race()
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
  }
  process.stdout.write(`race: ${title}, ${REPEATS} times: ${JSON.stringify(Object.fromEntries(outcomes))}\n`)
  return Object.fromEntries(outcomes)
}
const oneOf = (outcomes: Record<string, number>, allowed: readonly string[]) =>
  expect(Object.keys(outcomes).filter((outcome) => !allowed.includes(outcome))).toEqual([])

/** As the ledger's applier does when a link changed while it waited. */
async function again<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if ((error as { code?: unknown }).code !== '40001') throw error
    return again(work)
  }
}
const authorize = (holdId: bigint, by: bigint) =>
  ledgerTransaction(database.db, (tx) => authorizeSettlement(tx, holdId, by)).then(({ kind }) => kind)
const refund = (callId: bigint, accountId: bigint) =>
  ledgerTransaction(database.db, (tx) => refundCall(tx, { callId, accountId, reason: 'a race' }))
const sweep = (account: bigint) => database.sql('select ledger_expire($1)', [account])
/** As the links of accounts end: under the locks of both families. */
const unlink = (agent: bigint, owner: bigint) =>
  again(() =>
    database.sql(
      `with locked as materialized (select ledger_lock_families(array[${agent}, ${owner}]::bigint[])),
     ended as (delete from agent_links using locked where agent_account_id = ${agent})
     update accounts set family_id = id from locked where id = ${agent}`,
    ),
  )
const lapse = (account: bigint) =>
  database.sql(`update buckets set expires_at = now() - interval '1 second' where account_id = $1`, [account])

interface Owned {
  readonly owner: bigint
  readonly agent: bigint
  readonly key: Caller
}
async function owned(ownersMicro: bigint, agentsMicro: bigint): Promise<Owned> {
  const [owner, agent] = [await make.account('owner'), await make.account('agent')]
  if (ownersMicro > 0n) await make.grant(owner, ownersMicro)
  if (agentsMicro > 0n) await make.grant(agent, agentsMicro)
  await make.link(agent, owner, 'self_then_owner', {})
  return { owner, agent, key: await make.key(agent) }
}
/** A call held with 40 of the Agent and 60 of its owner that cost 150: 20 and 30 more. */
async function short(ownersMicro: bigint): Promise<Owned & { id: bigint }> {
  const who = await owned(60n + ownersMicro, 40n)
  const { id } = await make.hold(who.key, 100n)
  expect((await make.capture(id, 150n, { outcome: 'failed' })).status).toBe('shortfall')
  return { ...who, id }
}
const posted = async (...accounts: bigint[]): Promise<number[]> => {
  const rows = await database.sql<{ account_id: string; micro: string }>(
    'select account_id, sum(posted_micro) as micro from buckets where account_id = any ($1) group by account_id',
    [accounts],
  )
  return accounts.map((id) => Number(rows.find((row) => row.account_id === String(id))?.micro ?? 0))
}
const supplements = async (id: bigint) =>
  (
    await database.sql<{ micro: string }>(
      'select coalesce(sum(amount_micro), 0) as micro from hold_allocations where hold_id = $1 and supplemental',
      [id],
    )
  ).map(({ micro }) => Number(micro))[0]
const timeout = 1_800_000

test('two authorizations of one item are one: one set of supplements, and both are told that it is settled', {
  timeout,
}, async () => {
  const outcomes = await repeated('authorize against authorize', async () => {
    const { id, owner, agent } = await short(30n)
    await make.grant(agent, 20n)
    const both = await Promise.all([authorize(id, owner), authorize(id, owner)])
    expect(await posted(owner, agent)).toEqual([0, 0])
    expect(await supplements(id)).toBe(50)
    return both.sort().join(' and ')
  })
  oneOf(outcomes, ['authorized and settled'])
})

test('an authorization finds the top-up or it does not; refused, it has written nothing, and succeeds afterwards', {
  timeout,
}, async () => {
  const outcomes = await repeated('authorize against top-up', async () => {
    const { id, owner, agent } = await short(30n)
    const [kind] = await Promise.all([authorize(id, owner), make.grant(agent, 20n)])
    if (kind === 'insufficient') {
      expect(await supplements(id)).toBe(0)
      expect(await posted(owner, agent)).toEqual([90, 60])
      expect(await authorize(id, owner)).toBe('authorized')
    }
    expect(await posted(owner, agent)).toEqual([0, 0])
    return kind
  })
  oneOf(outcomes, ['authorized', 'insufficient'])
})

test('a payer that spends the rest while it is asked for pays for one of the two', { timeout }, async () => {
  const outcomes = await repeated('authorize against spending', async () => {
    const { id, owner, agent } = await short(30n)
    await make.grant(agent, 20n)
    const own = await make.key(owner)
    const [kind, spent] = await Promise.all([authorize(id, owner), make.hold(own, 30n)])
    if (spent.status === 'reserved') await make.release(spent.id)
    if (kind === 'insufficient') expect(await authorize(id, owner)).toBe('authorized')
    return `${kind}, ${spent.status}`
  })
  oneOf(outcomes, ['authorized, insufficient_credits', 'insufficient, reserved'])
})

test('an item is charged to who paid its hold, whether the Agent has left or is just leaving', {
  timeout,
}, async () => {
  const outcomes = await repeated('authorize against unlink', async () => {
    const { id, owner, agent } = await short(30n)
    await make.grant(agent, 20n)
    const [kind] = await Promise.all([authorize(id, owner), unlink(agent, owner)])
    expect(await posted(owner, agent)).toEqual([0, 0])
    return kind
  })
  oneOf(outcomes, ['authorized'])
})

test('a call that costs more than its hold is never charged to an owner unasked, also while the Agent changes owners', {
  timeout,
}, async () => {
  const outcomes = await repeated('capture above the hold against unlink and link', async () => {
    const { key, owner, agent } = await owned(1_000n, 40n)
    const { id } = await make.hold(key, 100n)
    const next = await make.account('owner')
    await make.grant(next, 1_000n)
    const moving = unlink(agent, owner).then(() => again(() => make.link(agent, next, 'owner_only', {})))
    const [end] = await Promise.all([again(() => make.capture(id, 150n)), moving])
    expect(await posted(owner, agent, next)).toEqual([1_000, 40, 1_000])
    await make.grant(agent, 20n)
    expect(await authorize(id, owner)).toBe('authorized')
    expect(await posted(owner, agent, next)).toEqual([910, 0, 1_000])
    return end.status
  })
  oneOf(outcomes, ['shortfall'])
})

test('a cost that nobody knows is never authorized; once the late capture is there, it is known', {
  timeout,
}, async () => {
  const outcomes = await repeated('authorize of unknown usage against its late capture', async () => {
    const { key, owner, agent } = await owned(1_000n, 40n)
    const { id } = await make.hold(key, 100n)
    await make.unknown(id)
    expect(await authorize(id, owner)).toBe('usage_unknown')
    const [kind] = await Promise.all([authorize(id, owner), make.capture(id, 150n)])
    // the Agent has nothing left for its part, so whichever came first, nothing is charged
    expect(await posted(owner, agent)).toEqual([1_000, 40])
    return kind
  })
  oneOf(outcomes, ['usage_unknown', 'insufficient'])
})

test('two captures, or a capture and a void, of an item that is being authorized leave one end', {
  timeout,
}, async () => {
  const outcomes = await repeated('authorize against capture and void', async () => {
    const { id, owner, agent } = await short(30n)
    await make.grant(agent, 20n)
    const [kind, capture, release] = await Promise.all([authorize(id, owner), make.capture(id, 150n), make.release(id)])
    expect(await posted(owner, agent)).toEqual([0, 0])
    return `${kind}, ${capture.status}, ${release.status}`
  })
  oneOf(outcomes, ['authorized, captured, already_resolved', 'authorized, shortfall, already_resolved'])
})

test('a refund that comes before its late capture is refused, and after it is given, once', { timeout }, async () => {
  const outcomes = await repeated('refund against late capture', async () => {
    const { key, owner, agent } = await owned(60n, 40n)
    const { id } = await make.hold(key, 100n)
    await make.unknown(id)
    const [early] = await Promise.all([refund(id, agent), make.capture(id, 90n, { outcome: 'failed' })])
    const late = await refund(id, agent)
    expect(late.kind).toBe(early.kind === 'refunded' ? 'repeated' : 'refunded')
    expect(await posted(owner, agent)).toEqual([60, 40])
    return early.kind
  })
  oneOf(outcomes, ['refunded', 'usage_unknown'])
})

test('parallel refunds of one call move its money back once', { timeout }, async () => {
  const outcomes = await repeated('refund against refund', async () => {
    const { key, owner, agent } = await owned(60n, 40n)
    const { id } = await make.hold(key, 100n)
    await make.capture(id, 90n, { outcome: 'failed' })
    const answers = await Promise.all(Array.from({ length: 6 }, () => refund(id, agent)))
    expect(new Set(answers.map((answer) => ('refundId' in answer ? answer.refundId : answer.kind))).size).toBe(1)
    expect(await posted(owner, agent)).toEqual([60, 40])
    return String(answers.filter(({ kind }) => kind === 'refunded').length)
  })
  oneOf(outcomes, ['1'])
})

test('a refund into a bucket that is being swept is there afterwards, and what was left is not', {
  timeout,
}, async () => {
  await repeated('refund against the sweep of its bucket', async () => {
    const lone = await make.account('agent')
    await make.grant(lone, 100n, { bucket: 'promo', expiresAt: new Date(Date.now() + 3_600_000) })
    const key = await make.key(lone)
    const { id } = await make.hold(key, 60n)
    await make.capture(id, 60n, { outcome: 'failed' })
    await lapse(lone)
    const [given] = await Promise.all([refund(id, lone), sweep(lone), sweep(lone)])
    expect(given.kind).toBe('refunded')
    expect(await posted(lone)).toEqual([60])
    expect((await make.hold(key, 60n)).status).toBe('reserved')
    return 'one of each'
  })
})

test('Credits that expire while they are held are captured or swept, never both, and never spent anew', {
  timeout,
}, async () => {
  const outcomes = await repeated('sweep against reserve, capture and release', async () => {
    const lone = await make.account('agent')
    await make.grant(lone, 100n, { bucket: 'promo', expiresAt: new Date(Date.now() + 3_600_000) })
    const key = await make.key(lone)
    const [one, other] = [await make.hold(key, 30n), await make.hold(key, 30n)]
    await lapse(lone)
    const [late] = await Promise.all([
      make.hold(key, 1n),
      make.capture(one.id, 20n),
      make.release(other.id),
      sweep(lone),
      sweep(lone),
    ])
    await sweep(lone)
    expect(await posted(lone)).toEqual([0])
    const moved = await database.sql<{ kind: string; micro: string }>(
      `select kind, sum(amount_micro) as micro from transfers where account_id = $1 group by kind order by kind`,
      [lone],
    )
    expect(moved.map(({ kind, micro }) => [kind, Number(micro)])).toEqual([
      ['grant', 100],
      ['capture', 20],
      ['expiry', 80],
    ])
    return late.status
  })
  oneOf(outcomes, ['insufficient_credits'])
})
