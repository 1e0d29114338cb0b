import { afterAll, beforeAll, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../../test/database.ts'
import { readingServer, signedIn } from '../../../test/ledger-fixture.ts'
import { devUsdc, ordersFixture } from '../../../test/orders-fixture.ts'
import type { Caller } from '../../kernel/caller.ts'
import * as lifecycle from '../../payments/orders/lifecycle.ts'
import { reviewAdministrationRoutes } from './routes.ts'
import type { ChainState } from './service.ts'

let database: TestDatabase
let it: ReturnType<typeof ordersFixture>
let server: ReturnType<typeof readingServer>
let admin: Caller
let otherAdmin: Caller
const healthy: ChainState = { healthy: true, detail: '0 blocks behind', readAt: undefined }
let chain: ChainState | undefined = healthy
beforeAll(async () => {
  database = await freshDatabase()
  it = ordersFixture(database)
  const coin = { symbol: 'AXON', networkName: 'the test chain', explorerUrl: 'https://coins.example' }
  server = readingServer(
    reviewAdministrationRoutes({
      db: database.db,
      clock: it.clock,
      aloneLimitMicro: 10_000_000n,
      coin,
      chainState: () => chain,
    }),
  )
  ;[admin, otherAdmin] = await Promise.all([anAdmin(), anAdmin()])
})
afterAll(() => database.drop())

const anAdmin = async (): Promise<Caller> => ({ ...signedIn(await it.make.account('owner')), admin: true })
const decide = (id: string, verb: string, body: Record<string, unknown> = {}, as = admin) =>
  server.post(as, `/v1/admin/reviews/${id}/${verb}`, { reason: 'seen with the payer', ...body })
const read = async (id: string) => (await server.get(admin, `/v1/admin/reviews/${id}`)).body.data
const audited = (target: string, kind = 'order') =>
  database.sql(
    'select actor_kind, actor, action, reason, request_id is not null as by_request from audit_log where target_id = $1 and target_kind = $2',
    [target, kind],
  )

/** A transfer to us; joined to an order when one is named. */
async function transfer(amount: bigint, orderId: string | null = null) {
  const txHash = it.hash()
  await database.sql(
    `insert into chain_transfers (chain_id, tx_hash, log_position, block, block_hash, block_at, token_address, payer, recipient, amount, state, order_id)
     values (31337, $1, 2, 7, '0x', $8, $2, $3, $4, $5, $6, $7)`,
    [
      txHash,
      devUsdc.token_address,
      `0x${'99'.repeat(20)}`,
      devUsdc.recipient_address,
      amount,
      orderId === null ? 'unmatched' : 'matched',
      orderId,
      it.clock.now(),
    ],
  )
  return txHash
}

/** An order of 5 USDC in review, for which this much arrived. */
async function inReview(receivedMicro: bigint) {
  const payer = await it.payer()
  const id = await it.order(payer)
  const txHash = await transfer(receivedMicro, id)
  await it.locked(id, (tx, order) =>
    lifecycle.suspect(tx, order, { reason: 'amount_mismatch', txHash, receivedMicro }, it.clock.now()),
  )
  return { payer, id, txHash }
}

/** A payment of one coin that nobody quoted. */
async function claimed(status = 'review_required') {
  const account = await it.make.account('agent')
  const [row] = await database.sql<{ id: string }>(
    `insert into axon_claims (account_id, chain_id, tx_hash, status, reason, claimed_at, payer_address, recipient_address, received_wei, block, block_at, review_opened_at)
     values ($1, 31337, $2, $3, 'unquoted', $4, $5, $5, 1000000000000000000, 9, $4, $4) returning id`,
    [account, it.hash(), status, it.clock.now(), `0x${'77'.repeat(20)}`],
  )
  await database.sql(
    `insert into axon_rates (rate, sampled_at, observed_at, source) select 2000000000000000000, $1, $1, 'fixed' where not exists (select from axon_rates)`,
    [new Date(it.clock.now().getTime() - 1000)],
  )
  return { account, id: `axon:${row?.id}` }
}

/** An x402 payment that the chain left in doubt. */
async function doubted() {
  const account = await it.make.account('agent')
  const [row] = await database.sql<{ id: string }>(
    `insert into x402_payments (chain_id, token_address, payer, nonce, asset_id, recipient_address, amount_micro, credit_micro, rate_ppm, valid_after, valid_before, signature, x402_version, settler, account_id, status, reason, request_id, created_at, next_look_at)
     values (31337, $1, $2, $3, 'dev_usdc', $4, 3000000, 3000000, 1000000, 0, 1900000000, '0x' || repeat('ab', 65), 2, 'relayer', $5, 'review_required', 'unsettled_for_a_day', 'req_1', $6, $6) returning id`,
    [devUsdc.token_address, `0x${'88'.repeat(20)}`, it.hash(), devUsdc.recipient_address, account, it.clock.now()],
  )
  return { account, id: `x402:${row?.id}` }
}

test('the four kinds of payment that wait are one list, longest first, or one kind of it, with the reason in words', async () => {
  const order = await inReview(4_000_000n)
  it.clock.by(1000)
  const lost = `31337:${await transfer(7_000_000n)}:2`
  it.clock.by(1000)
  const native = await claimed()
  it.clock.by(1000)
  const x402 = await doubted()
  const { body } = await server.get(admin, '/v1/admin/reviews')
  expect(body.data.map(({ id, kind }: { id: string; kind: string }) => [id, kind])).toEqual([
    [order.id, 'order'],
    [lost, 'transfer'],
    [native.id, 'native'],
    [x402.id, 'x402'],
  ])
  expect(body.data[0]).toMatchObject({
    reason: 'amount_mismatch',
    reason_in_words: 'Another amount arrived than the order asked for.',
    age_seconds: 3,
    account_id: Number(order.payer),
    expected: { amount: '5' },
    received: { amount: '4' },
  })
  expect(body.data[2]).toMatchObject({ received: { amount: '1', symbol: 'AXON' }, network_name: 'the test chain' })
  const some = await server.get(admin, '/v1/admin/reviews?kind=native&limit=1')
  expect(some.body).toMatchObject({ data: [{ id: native.id }], has_more: false })
  expect((await server.get(admin, '/v1/admin/reviews?limit=1')).body).toMatchObject({ has_more: true })
})

test('an order is shown with what was asked for beside what the chain shows, and is credited once, by an account in every record', async () => {
  const { id, payer, txHash } = await inReview(4_000_000n)
  expect(await read(id)).toMatchObject({
    waits: true,
    account: { id: Number(payer), label: expect.any(String) },
    expected: { amount: '5', credit_micro: 5_000_000 },
    shown: { amount: '4', block: 7 },
    tx_hash: txHash,
    worth_micro: 4_000_000,
    takes_two: false,
    proposal: null,
    actions: [
      { action: 'credit', possible: true, why_not: null },
      { action: 'refund', possible: true },
      { action: 'dismiss', possible: true },
    ],
  })
  const twice = await Promise.all([decide(id, 'credit'), decide(id, 'credit', {}, otherAdmin)])
  expect(twice.map(({ body }) => body.data?.outcome ?? body.code).sort()).toEqual(['done', 'order_completed'])
  expect(await it.availableMicro(payer)).toBe(4_000_000n)
  const [winner] = twice[0]?.status === 200 ? [admin] : [otherAdmin]
  expect(await audited(id)).toEqual([
    {
      actor_kind: 'account',
      actor: String(winner?.accountId),
      action: 'credit.order',
      reason: 'seen with the payer',
      by_request: true,
    },
  ])
  expect(
    await database.sql('select actor from order_events where order_id = $1 and event = $2', [id, 'operator_credit']),
  ).toEqual([{ actor: `account:${winner?.accountId}` }])
  expect(await read(id)).toMatchObject({ waits: false, actions: [{ possible: false }, {}, {}] })
})

test('above the limit an admin proposes, the same admin again changes nothing, and another one who states the same decides', async () => {
  const { id, payer } = await inReview(20_000_000n)
  expect((await read(id)).takes_two).toBe(true)
  for (let again = 0; again < 2; again++)
    expect((await decide(id, 'credit')).body.data).toMatchObject({ outcome: 'proposed', credit_micro: 20_000_000 })
  expect(await it.availableMicro(payer)).toBe(0n)
  expect((await read(id)).proposal).toMatchObject({
    action: 'credit',
    credit_micro: 20_000_000,
    by: `account:${admin.accountId}`,
    reason: 'seen with the payer',
  })
  expect((await decide(id, 'credit', { credit_micro: 15_000_000 }, otherAdmin)).body.data.outcome).toBe('proposed')
  expect((await decide(id, 'credit', { credit_micro: 15_000_000 })).body.data).toMatchObject({
    outcome: 'done',
    credit_micro: 15_000_000,
  })
  expect(await it.availableMicro(payer)).toBe(15_000_000n)
  expect(await audited(id)).toHaveLength(1)
})

test('a transfer that nobody asked for is credited to the account that is named, which has to be there', async () => {
  const id = `31337:${await transfer(6_000_000n)}:2`
  const account = await it.make.account('agent')
  expect((await decide(id, 'credit')).body.code).toBe('invalid_field')
  expect((await decide(id, 'credit', { account_id: 999_999 })).body.code).toBe('account_not_found')
  expect((await decide(id, 'credit', { account_id: Number(account) })).body.data).toMatchObject({
    outcome: 'done',
    credit_micro: 6_000_000,
  })
  expect(await it.availableMicro(account)).toBe(6_000_000n)
  expect(await read(id)).toMatchObject({
    waits: false,
    events: [{ event: 'credit', by: `account:${admin.accountId}` }],
  })
  const { id: order } = await inReview(1_000_000n)
  expect((await decide(order, 'credit', { account_id: Number(account) })).body.code).toBe('invalid_field')
})

test('a payment with the native coin is valued at its rate, and credited or recorded as sent back', async () => {
  const { id, account } = await claimed()
  expect(await read(id)).toMatchObject({
    worth_micro: 2_000_000,
    shown: { amount: '1', symbol: 'AXON' },
    explorer_tx_url: expect.stringContaining('https://coins.example/tx/0x'),
  })
  expect((await decide(id, 'credit', { credit_micro: 2_000_001 })).body.code).toBe('amount_above_maximum')
  expect((await decide(id, 'credit')).body.data).toMatchObject({ outcome: 'done', credit_micro: 2_000_000 })
  expect(await it.availableMicro(account)).toBe(2_000_000n)
  const other = await claimed()
  expect((await decide(other.id, 'refund', { tx_hash: 'none' })).body.code).toBe('invalid_field')
  expect((await decide(other.id, 'refund', { tx_hash: it.hash() })).body.data.outcome).toBe('done')
  expect(await audited(other.id.slice(5), 'native_payment')).toMatchObject([
    { actor_kind: 'account', action: 'refund.native_payment' },
  ])
})

test('a payment by x402 that is in doubt is dismissed with a reason, once', async () => {
  const { id } = await doubted()
  // nothing of it is on the chain
  expect((await decide(id, 'credit')).body.code).toBe('order_not_in_review')
  expect((await decide(id, 'dismiss')).body.data.outcome).toBe('done')
  expect((await decide(id, 'dismiss')).body.code).toBe('order_not_in_review')
  expect(await audited(id.slice(5), 'payment')).toMatchObject([
    { actor_kind: 'account', actor: String(admin.accountId), action: 'dismiss.payment', by_request: true },
  ])
})

test('while the chain cannot be read nothing is credited by what it showed before, and that is said before anybody tries', async () => {
  const { id, payer } = await inReview(4_000_000n)
  for (const [state, why] of [
    [{ healthy: false, detail: 'no node answers', readAt: undefined }, 'no node answers'],
    [undefined, 'does not read it'],
  ] as const) {
    chain = state
    expect(await read(id)).toMatchObject({
      chain: { healthy: false },
      actions: [{ action: 'credit', possible: false, why_not: expect.stringContaining(why) }, { possible: true }, {}],
    })
    expect((await decide(id, 'credit')).body.code).toBe('chain_unavailable')
  }
  chain = healthy
  expect(await it.availableMicro(payer)).toBe(0n)
  expect((await decide(id, 'credit')).status).toBe(200)
})

test.each([
  'order 1',
  '1',
  'axon:x',
  '31337:0x12:1',
  '01a1fb04-c84b-761b-b290-dc3d95aed53b',
  'axon:99999',
  'x402:99999',
])('what is no payment is not found: %s', async (id) => {
  const path = encodeURIComponent(id)
  expect((await server.get(admin, `/v1/admin/reviews/${path}`)).body.code).toBe('review_not_found')
  expect((await decide(path, 'dismiss')).body.code).toBe('review_not_found')
})
