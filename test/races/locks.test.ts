import pg from 'pg'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../database.ts'
import { ledgerFixture } from '../ledger-fixture.ts'

let database: TestDatabase
let make: ReturnType<typeof ledgerFixture>
const open: pg.Client[] = []
beforeAll(async () => {
  database = await freshDatabase()
  make = ledgerFixture(database)
})
afterEach(async () => {
  await Promise.all(open.splice(0).map((client) => client.end()))
  expect(await database.sql(`select * from ledger_audit() where check_name <> 'open_hold_without_process'`)).toEqual([])
})
afterAll(() => database.drop())

/** A connection of its own, so that one statement can wait while others go on. */
async function session(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: database.url })
  client.on('error', () => undefined)
  await client.connect()
  open.push(client)
  return client
}
const lock = (client: pg.Client, family: bigint) =>
  client.query(`begin; select from families where id = ${family} for no key update`)

interface Started {
  readonly answer: Promise<unknown>
  /** True once it waits for a lock that somebody else has, false when it ended without waiting. */
  readonly waited: boolean
}
/** Begins a statement that gives one value, and looks until it waits or has ended. */
async function start(statement: string, client?: pg.Client): Promise<Started> {
  const own = client ?? (await session())
  const [{ pid }] = (await own.query('select pg_backend_pid() as pid')).rows
  let ended = false
  const answer = own.query({ text: statement, rowMode: 'array' }).then(({ rows }) => rows[0]?.[0])
  answer
    .catch(() => undefined)
    .finally(() => {
      ended = true
    })
  for (;;) {
    const [row] = await database.sql<{ waits: boolean }>('select cardinality(pg_blocking_pids($1)) > 0 as waits', [pid])
    if (row?.waits) return { answer, waited: true }
    if (ended) return { answer, waited: false }
  }
}

const flush = (operation: object) =>
  `select status from ledger_apply('${JSON.stringify([operation], (_, value) => (typeof value === 'bigint' ? Number(value) : value))}')`
const unlink = (agent: bigint) =>
  database.sql(`with ended as (delete from agent_links where agent_account_id = ${agent})
    update accounts set family_id = id where id = ${agent}`)

/** An Agent that left its owner after a call of 100, of which the owner paid `owners`. */
async function parted(owners: bigint) {
  const [owner, agent] = [await make.account('owner'), await make.account('agent')]
  await make.grant(owner, 1_000n)
  if (owners < 100n) await make.grant(agent, 100n - owners)
  await make.link(agent, owner, 'self_then_owner', {})
  const { id } = await make.hold(await make.key(agent), 100n)
  return { owner, agent, id }
}
let holds = 9_000_000n
/** A call of 70 that was brought over without its funding, and its refund, which waits for an operator. */
async function reviewed(account: bigint): Promise<unknown> {
  holds += 1n
  await database.sql(`insert into holds (id, request_id, actor_account_id, family_id, credential_kind, credential_id, category, subject, reserve_micro, wanted_micro, minimum_micro)
    values (${holds}, 'req_old_${holds}', ${account}, ${account}, 'api_key', 1, 'chat', 'demo', 70, 70, 70)`)
  await database.sql(
    `insert into hold_resolutions (hold_id, kind, outcome, actual_micro) values (${holds}, 'captured', 'failed', 70)`,
  )
  await database.sql(`insert into holds_without_allocations (hold_id, reason) values (${holds}, 'brought over')`)
  return (
    await database.sql<{ id: string }>(`select refund_id as id from ledger_refund(${holds}, ${account}, 'a test')`)
  )[0]?.id
}
const decide = (refund: unknown) => `select ledger_decide_refund(${refund}, 'approved', 'operator:test', 'a test')`
const granted = (sourceId: string, account: bigint) =>
  `select repeated::text from ledger_grant('operator', '${sourceId}', ${account}, 'purchased', 100, null, 'a test', 'operator:test')`
const HASH = (n: bigint) => `0x${n.toString(16).padStart(64, '0')}`
/** The audit asks for an order behind each receipt of one, so these come by another rail. */
const receipt = (n: bigint, sourceId: string, account: bigint) =>
  `select outcome from ledger_grant_receipt(1, '${HASH(n)}', 0, 'x402', '${sourceId}', ${account}, 100, 'a test')`

interface Case {
  readonly family: bigint
  readonly statement: string
}
test.each<[string, () => Promise<Case>, unknown[]]>([
  [
    'a hold',
    async () => {
      const account = await make.account('agent')
      await make.grant(account, 100n)
      const { credential } = await make.key(account)
      const [row] = await database.sql<{ id: string }>(`select nextval('hold_ids') as id`)
      const id = Number(row?.id)
      const wish = { operation: 'reserve', id, request_id: `req_${id}`, actor_account_id: account }
      const amounts = { wanted_micro: 60, minimum_micro: 60, category: 'chat', subject: 'demo' }
      const statement = flush({ ...wish, ...amounts, credential_kind: 'api_key', credential_id: credential.id })
      return { family: account, statement }
    },
    ['reserved', 'reserved'],
  ],
  [
    "a capture of a former owner's Credits",
    async () => {
      const { owner, agent, id } = await parted(100n)
      await unlink(agent)
      return { family: owner, statement: flush({ operation: 'capture', id, actual_micro: 40, outcome: 'success' }) }
    },
    ['captured', 'captured'],
  ],
  [
    'a capture above what a former owner held',
    async () => {
      const { agent, id } = await parted(100n)
      await unlink(agent)
      await make.grant(agent, 50n)
      return { family: agent, statement: flush({ operation: 'capture', id, actual_micro: 150, outcome: 'success' }) }
    },
    ['captured', 'captured'],
  ],
  [
    'a grant',
    async () => {
      const account = await make.account('agent')
      return { family: account, statement: granted(`twice ${account}`, account) }
    },
    ['false', 'true'],
  ],
  [
    'a payment on a chain',
    async () => {
      const account = await make.account('agent')
      return { family: account, statement: receipt(account, `twice ${account}`, account) }
    },
    ['granted', 'repeated'],
  ],
  [
    'an authorization that a former owner pays',
    async () => {
      const { owner, agent, id } = await parted(60n)
      await make.capture(id, 150n)
      await unlink(agent)
      await make.grant(agent, 20n)
      return { family: owner, statement: `select outcome from ledger_authorize(${id}, ${owner})` }
    },
    ['authorized', 'settled'],
  ],
  [
    'the review of a payment that begins',
    async () => {
      const account = await make.account('agent')
      const { grantId } = await make.grant(account, 100n)
      return { family: account, statement: `select held_micro from ledger_hold_grant(${grantId})` }
    },
    ['0', '100'],
  ],
  [
    'the review of a payment that ends',
    async () => {
      const account = await make.account('agent')
      const { grantId } = await make.grant(account, 100n)
      const [row] = await database.sql<{ hold_id: string }>(`select hold_id from ledger_hold_grant(${grantId})`)
      const statement = `select ledger_end_grant_hold(${row?.hold_id}, ${grantId}, true, 'operator:test', 'a test')`
      return { family: account, statement }
    },
    ['100', '100'],
  ],
  [
    'an expiry',
    async () => {
      const account = await make.account('agent')
      await make.grant(account, 100n, { bucket: 'promo', expiresAt: new Date(Date.now() + 3_600_000) })
      await database.sql('update buckets set expires_at = now() where account_id = $1', [account])
      return { family: account, statement: `select ledger_expire(${account})` }
    },
    ['0', '100'],
  ],
  [
    'a refund to a former owner',
    async () => {
      const { owner, agent, id } = await parted(60n)
      await make.capture(id, 90n, { outcome: 'failed' })
      await unlink(agent)
      return { family: owner, statement: `select outcome from ledger_refund(${id}, ${agent}, 'a test')` }
    },
    ['refunded', 'repeated'],
  ],
  [
    "an operator's second approval for an account",
    async () => {
      const account = await make.account('agent')
      await database.sql(decide(await reviewed(account)))
      return { family: account, statement: decide(await reviewed(account)) }
    },
    ['approved', 'repeated'],
  ],
])('%s waits for its family, and two that waited together are one', async (_title, prepare, together) => {
  const { family, statement } = await prepare()
  const holder = await session()
  await lock(holder, family)
  const both = [await start(statement), await start(statement)]
  await holder.query('commit')
  expect(both.map(({ waited }) => waited)).toEqual([true, true])
  expect((await Promise.all(both.map(({ answer }) => answer))).map(String).sort()).toEqual(together)
})

test('families are locked from the lowest id, whatever the order in which they are named or found', async () => {
  // found by a scan, the highest comes first
  const [low, high] = [8_000_001n, 8_000_002n]
  for (const id of [high, low]) {
    await database.sql('insert into families (id) values ($1)', [id])
    await database.sql(
      `insert into accounts (id, account_type, family_id) overriding system value values ($1, 'owner', $1)`,
      [id],
    )
  }
  /** While `held` is waited for: whether nobody has the other one. */
  const otherIsFree = async (held: bigint) => {
    const [holder, waiter] = [await session(), await session()]
    await lock(holder, held)
    await waiter.query('set enable_indexscan = off; set enable_bitmapscan = off; begin')
    const { answer, waited } = await start(`select ledger_lock_families(array[${high}, ${low}]::bigint[])`, waiter)
    expect(waited).toBe(true)
    const other = held === low ? high : low
    const free = await database.sql('select from families where id = $1 for no key update skip locked', [other])
    await holder.query('commit')
    await answer
    await waiter.query('commit')
    return free.length === 1
  }
  expect([await otherIsFree(low), await otherIsFree(high)]).toEqual([true, false])
})

test('who waited for a family that its account has left meanwhile is told to begin anew', async () => {
  const { owner, agent } = await parted(100n)
  const mover = await session()
  await lock(mover, owner)
  const { answer } = await start(`select ledger_lock_families(array[${agent}]::bigint[])`)
  await mover.query(`delete from agent_links where agent_account_id = ${agent}`)
  await mover.query(`update accounts set family_id = id where id = ${agent}; commit`)
  await expect(answer).rejects.toMatchObject({ code: '40001' })
})

test('of two purchases that show one transfer at once the second is told whose it is', async () => {
  const [one, other] = [await make.account('agent'), await make.account('agent')]
  const first = await session()
  await first.query('begin')
  const { answer: given } = await start(receipt(one, `first ${one}`, one), first)
  expect(await given).toBe('granted')
  const { answer, waited } = await start(receipt(one, `second ${one}`, other))
  await first.query('commit')
  expect([waited, await answer]).toEqual([true, 'taken'])
  // and a purchase that has its transfer gets nothing for another
  expect(await (await start(receipt(one + 1_000_000n, `first ${one}`, one))).answer).toBe('paid_before')
})
