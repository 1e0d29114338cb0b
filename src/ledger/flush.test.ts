import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../test/database.ts'
import { ledgerFixture } from '../../test/ledger-fixture.ts'
import type { Caller } from '../kernel/caller.ts'

let database: TestDatabase
let make: ReturnType<typeof ledgerFixture>
beforeAll(async () => {
  database = await freshDatabase()
  make = ledgerFixture(database)
})
afterAll(() => database.drop())

let holds = 0
/** A wish to hold so much, as the server sends it. */
const wish = ({ accountId, credential }: Caller, micro: number) => {
  holds += 1
  const who = { actor_account_id: Number(accountId), credential_kind: 'api_key', credential_id: Number(credential.id) }
  const what = { wanted_micro: micro, minimum_micro: micro, category: 'chat', subject: 'demo', process_id: 1 }
  return { operation: 'reserve', id: holds, request_id: `req_${holds}`, ...who, ...what }
}
const apply = async (wishes: object[]): Promise<string[]> => {
  const { rows } = await database.pool.query('select status from ledger_apply($1)', [JSON.stringify(wishes)])
  return rows.map(({ status }) => status)
}

test('in one flush what fits for each Agent and not for all of them is decided one by one', async () => {
  const owner = await make.account('owner')
  await make.grant(owner, 100n)
  const keys: Caller[] = []
  for (const _ of [1, 2, 3]) {
    const agent = await make.account('agent')
    await make.link(agent, owner, 'owner_only')
    keys.push(await make.key(agent))
  }
  expect(await apply(keys.map((key) => wish(key, 40)))).toEqual(['reserved', 'reserved', 'insufficient_credits'])
})

test('in one flush what each fits a limit and together does not is decided one by one', async () => {
  const account = await make.account('agent')
  await make.grant(account, 1_000n)
  const key = await make.key(account, { total_micro: 100n })
  expect(await apply([wish(key, 40), wish(key, 40), wish(key, 40)])).toEqual([
    'reserved',
    'reserved',
    'budget_exceeded',
  ])
})

test('in one flush of what fits, a hold that begins where another one used up a bucket takes nothing of that bucket', async () => {
  const account = await make.account('agent')
  await make.grant(account, 80n, { bucket: 'promo' })
  await make.grant(account, 100n)
  const key = await make.key(account)
  const wishes = [wish(key, 40), wish(key, 40), wish(key, 30)]
  expect(await apply(wishes)).toEqual(['reserved', 'reserved', 'reserved'])
  const allocations = await database.sql(
    `select a.n, b.kind, a.amount_micro::int as micro from hold_allocations a join buckets b on b.id = a.bucket_id
     where a.hold_id = any ($1) order by a.hold_id, a.n`,
    [wishes.map(({ id }) => id)],
  )
  expect(allocations).toEqual([
    { n: 0, kind: 'promo', micro: 40 },
    { n: 0, kind: 'promo', micro: 40 },
    { n: 0, kind: 'purchased', micro: 30 },
  ])
})

test("in one flush an Agent's own Credits are held to the last before its owner's, though the owner has enough for all", async () => {
  const [agent, owner] = [await make.account('agent'), await make.account('owner')]
  await make.grant(agent, 50n)
  await make.grant(owner, 1_000n)
  await make.link(agent, owner, 'self_then_owner')
  const key = await make.key(agent)
  expect(await apply([wish(key, 40), wish(key, 40), wish(key, 40)])).toEqual(['reserved', 'reserved', 'reserved'])
  expect(
    await database.sql(
      'select account_id::int as id, held_micro::int as held from buckets where account_id in ($1, $2) order by 1',
      [agent, owner],
    ),
  ).toEqual([
    { id: Number(agent), held: 50 },
    { id: Number(owner), held: 70 },
  ])
})

test('in one flush another wish under the id of the first is a conflict, and the same one is the same hold', async () => {
  const account = await make.account('agent')
  await make.grant(account, 1_000n)
  const first = wish(await make.key(account), 40)
  const other = { ...first, wanted_micro: 50 }
  expect(await apply([first, other, first])).toEqual(['reserved', 'conflict', 'reserved'])
  expect(await database.sql('select held_micro::int as held from buckets where account_id = $1', [account])).toEqual([
    { held: 40 },
  ])
})

test('a key spends nothing at the very moment of its expiry', async () => {
  const account = await make.account('agent')
  await make.grant(account, 1_000n)
  const key = await make.key(account)
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  try {
    // inside one transaction no time passes
    await client.query('begin')
    await client.query('update api_keys set expires_at = now() where id = $1', [key.credential.id])
    const { rows } = await client.query('select status from ledger_apply($1)', [JSON.stringify([wish(key, 40)])])
    expect(rows).toEqual([{ status: 'unauthorized' }])
  } finally {
    await client.query('rollback')
    await client.end()
  }
})
