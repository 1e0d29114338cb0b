import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../../../test/database.ts'
import { devUsdc, ordersFixture } from '../../../../test/orders-fixture.ts'
import { Fault } from '../../../kernel/errors.ts'
import type { Decision, ReviewDeps } from './decision.ts'
import { decideTransfer } from './service.ts'
import { parseTransferId, transferId } from './transfer-id.ts'

let database: TestDatabase
let it: ReturnType<typeof ordersFixture>
let deps: ReviewDeps
beforeAll(async () => {
  database = await freshDatabase()
  it = ordersFixture(database)
  deps = { db: database.db, clock: it.clock, aloneLimitMicro: 100_000_000n }
})
afterAll(() => database.drop())

const by = (name: string, action: Decision['action'], change: Partial<Decision> = {}): Decision => ({
  action,
  reason: 'seen with the payer',
  operator: { kind: 'operator', name },
  ...change,
})
const refusal = (work: Promise<unknown>) =>
  work.then(
    () => 'done',
    (error: unknown) => (error instanceof Fault ? error.code : Promise.reject(error)),
  )

const audited = (target: string) =>
  database.sql(
    `select actor, action, reason, after->>'credited_micro' as credited from audit_log where target_id = $1`,
    [target],
  )

/** A transfer to us; joined to an order when one is named. */
async function transfer(amount: bigint, orderId: string | null = null) {
  const txHash = it.hash()
  await database.sql(
    `insert into chain_transfers (chain_id, tx_hash, log_position, block, block_hash, block_at, token_address, payer, recipient, amount, state, order_id)
     values (31337, $1, 2, 7, '0x', now(), $2, $3, $4, $5, $6, $7)`,
    [
      txHash,
      devUsdc.token_address,
      `0x${'99'.repeat(20)}`,
      devUsdc.recipient_address,
      amount,
      orderId === null ? 'unmatched' : 'matched',
      orderId,
    ],
  )
  return { chainId: 31337n, txHash, logPosition: 2 }
}

describe('a transfer without an order', () => {
  test('is credited to the account that the operator names, once', async () => {
    const payer = await it.payer()
    await it.order(payer)
    const key = await transfer(7_000_000n)
    expect(await refusal(decideTransfer(deps, key, by('ann', 'credit')))).toBe('invalid_field')
    expect(await decideTransfer(deps, key, by('ann', 'credit', { accountId: payer }))).toEqual({
      outcome: 'done',
      creditMicro: 7_000_000n,
    })
    expect(await refusal(decideTransfer(deps, key, by('bob', 'credit', { accountId: payer })))).toBe(
      'order_not_in_review',
    )
    expect(await it.availableMicro(payer)).toBe(7_000_000n)
    expect(await audited(transferId(key))).toEqual([
      {
        actor: 'operator:ann',
        action: 'credit.order',
        reason: 'seen with the payer',
        credited: '7000000',
      },
    ])
    expect(await database.sql('select event, object_id from outbox where account_id = $1', [payer])).toEqual([
      { event: 'payment.credited', object_id: transferId(key) },
    ])
    expect(await it.audit()).toEqual([])
  })

  test('takes two operators above the limit, who name the same account', async () => {
    const [payer, other] = [await it.payer(), await it.payer()]
    const key = await transfer(500_000_000n)
    expect((await decideTransfer(deps, key, by('ann', 'credit', { accountId: payer }))).outcome).toBe('proposed')
    expect((await decideTransfer(deps, key, by('bob', 'credit', { accountId: other }))).outcome).toBe('proposed')
    expect((await decideTransfer(deps, key, by('bob', 'credit', { accountId: other }))).outcome).toBe('proposed')
    expect((await decideTransfer(deps, key, by('ann', 'credit', { accountId: other }))).outcome).toBe('done')
    expect([await it.availableMicro(payer), await it.availableMicro(other)]).toEqual([0n, 500_000_000n])
  })

  test('is refunded or dismissed once', async () => {
    for (const action of ['refund', 'dismiss'] as const) {
      const key = await transfer(7_000_000n)
      expect((await decideTransfer(deps, key, by('ann', action))).outcome).toBe('done')
      expect(await refusal(decideTransfer(deps, key, by('ann', 'credit', { accountId: 1n })))).toBe(
        'order_not_in_review',
      )
    }
  })

  test('has a name that names it again, and other text names nothing', () => {
    const key = { chainId: 8453n, txHash: `0x${'ab'.repeat(32)}`, logPosition: 3 }
    expect(parseTransferId(transferId(key))).toEqual(key)
    expect(parseTransferId(transferId(key).toUpperCase().replace('0X', '0x'))).toEqual(key)
    for (const text of ['', '8453', `8453:0x${'ab'.repeat(31)}:3`, `-1:0x${'ab'.repeat(32)}:3`])
      expect(parseTransferId(text)).toBeUndefined()
  })
})
