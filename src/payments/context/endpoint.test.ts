import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../../test/database.ts'
import { code, ordersFixture, plainContexts } from '../../../test/orders-fixture.ts'

let database: TestDatabase
let it: ReturnType<typeof ordersFixture>
beforeAll(async () => {
  database = await freshDatabase()
  it = ordersFixture(database)
})
afterAll(() => database.drop())

describe('a payment context', () => {
  const context = (payer: bigint, body: unknown) => it.send('POST', '/v1/payments/context', payer, body)

  test('shows the recipient and carries its token in the fragment alone', async () => {
    const payer = await it.payer()
    const { data } = (await context(payer, { amount_micro: '5000000' })).body
    expect(data).toMatchObject({
      amount_micro: '5000000',
      recipient: {
        account_id: Number(payer),
        label: expect.stringMatching(/^payer/),
        wallet_address: expect.stringMatching(/^0x[0-9a-fA-F]{40}$/),
      },
    })
    const url = new URL(data.topup_url)
    expect([url.origin, url.pathname, url.search]).toEqual(['https://pay.example', '/topup', ''])
    expect(new URLSearchParams(url.hash.slice(1)).get('context')).toBe(data.payment_context_token)
    const left = new Date(data.expires_at).getTime() - it.clock.now().getTime()
    expect([left > 15 * 60_000 - 1000, left <= 15 * 60_000]).toEqual([true, true])
  })

  test('credits a linked Agent by an order that is paid by the owner, for 15 minutes and the same amount', async () => {
    const [owner, agent] = [await it.payer(), await it.payer()]
    expect(code(await context(owner, { amount_micro: '5000000', recipient_account_id: Number(agent) }))).toEqual([
      403,
      'recipient_not_allowed',
    ])
    await it.make.link(agent, owner, 'self_only')
    const { data } = (await context(owner, { amount_micro: '5000000', recipient_account_id: Number(agent) })).body
    expect(data.recipient.account_id).toBe(Number(agent))
    const token = data.payment_context_token
    expect(code(await it.create(owner, { payment_context_token: token, amount_micro: '5000001' }))).toEqual([
      409,
      'context_mismatch',
    ])
    expect(code(await it.create(agent, { payment_context_token: token }))).toEqual([409, 'context_mismatch'])
    const made = (await it.create(owner, { payment_context_token: token })).body.data
    expect([made.account_id, made.account_label]).toEqual([Number(agent), data.recipient.label])
    const txHash = it.hash()
    await it.see(made.id, txHash)
    await it.settle(made.id, txHash)
    expect([await it.availableMicro(agent), await it.availableMicro(owner)]).toEqual([5_000_000n, 0n])
    expect(code(await it.get(agent, made.id))).toEqual([403, 'not_original_account'])
    it.clock.by(15 * 60_000)
    expect(code(await it.create(owner, { payment_context_token: token }))).toEqual([409, 'context_expired'])
    expect(await plainContexts.verify(token, it.clock.now())).toBe('expired')
  })

  test('refuses amounts that no asset takes, and any context while none is enabled', async () => {
    const payer = await it.payer()
    expect(code(await context(payer, { amount_micro: 'five' }))).toEqual([400, 'invalid_amount'])
    expect(code(await context(payer, { amount_micro: '1' }))).toEqual([400, 'amount_below_minimum'])
    expect(code(await context(payer, { amount_micro: '99999999999' }))).toEqual([400, 'amount_above_maximum'])
    const { assets } = it.state
    it.state.assets = []
    expect(code(await context(payer, { amount_micro: '5000000' }))).toEqual([503, 'asset_unavailable'])
    it.state.assets = assets
  })
})
