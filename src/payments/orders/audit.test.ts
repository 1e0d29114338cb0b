import { afterAll, beforeAll, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../../test/database.ts'
import { ordersFixture } from '../../../test/orders-fixture.ts'
import { microcredits } from '../../kernel/money.ts'
import { auditLedger } from '../../ledger/audit.ts'
import { grantCredits } from '../../ledger/grants.ts'
import * as lifecycle from './lifecycle.ts'

let database: TestDatabase
let it: ReturnType<typeof ordersFixture>
beforeAll(async () => {
  database = await freshDatabase()
  it = ordersFixture(database)
})
afterAll(() => database.drop())

async function completed(): Promise<{ id: string; payer: bigint }> {
  const payer = await it.payer()
  const id = await it.order(payer)
  const txHash = it.hash()
  await it.locked(id, (tx, order) =>
    lifecycle.see(tx, order, { txHash, attemptId: it.deps.random.uuid() }, it.clock.now()),
  )
  await it.locked(id, (tx, order) =>
    lifecycle.settle(tx, order, { chainId: 31337n, txHash, logPosition: 0 }, it.clock.now()),
  )
  return { id, payer }
}

const found = async () =>
  (await auditLedger(database.db)).map(({ check_name, subject }) => `${check_name} ${subject}`).sort()
const append = (statement: string, table: string) =>
  database.sql(
    `alter table ${table} disable trigger append_only; ${statement}; alter table ${table} enable trigger append_only`,
  )

test('completed orders with their own Credits and receipts are in order', async () => {
  await completed()
  expect(await found()).toEqual([])
})

test.each(['order', 'x402', 'axon'] as const)(
  'Credits of the rail %s without a transfer on a chain are found',
  async (source) => {
    const before = await found()
    const { grantId } = await grantCredits(database.db, {
      source,
      sourceId: `forged ${source}`,
      accountId: await it.payer(),
      bucket: 'purchased',
      amountMicro: microcredits(5n),
      expiresAt: undefined,
      reason: 'a test',
      grantedBy: 'a test',
    })
    const expected = [`grant_receipt grant ${grantId}`, `${source}_credited ${source} forged ${source}`]
    expect((await found()).filter((finding) => !before.includes(finding))).toEqual(expected.sort())
  },
)

test('an order that says completed without Credits, with another amount, account or grant, is found', async () => {
  const before = await found()
  const [unpaid, dearer, stolen, swapped] = [
    await it.payer().then((payer) => it.order(payer)),
    await completed(),
    await completed(),
    await completed(),
  ]
  await database.sql(`update orders set status = 'completed' where id = $1`, [unpaid])
  await database.sql('update orders set credit_micro = credit_micro + 1 where id = $1', [dearer.id])
  await database.sql('update orders set account_id = $2 where id = $1', [stolen.id, dearer.payer])
  await database.sql('update orders set grant_id = (select grant_id from orders where id = $2) where id = $1', [
    swapped.id,
    stolen.id,
  ])
  expect((await found()).filter((finding) => !before.includes(finding))).toEqual(
    [
      `order_credited order ${unpaid}`,
      `order_settled order ${dearer.id}`,
      `order_credited order ${stolen.id}`,
      `order_credited order ${swapped.id}`,
      `receipt_of_payment order ${swapped.id}`,
    ].sort(),
  )
})

test("a receipt that was taken away, or is another rail's, is found", async () => {
  const before = await found()
  const [lost, other] = [await completed(), await completed()]
  await append(
    `delete from chain_receipts where grant_id = (select grant_id from orders where id = '${lost.id}')`,
    'chain_receipts',
  )
  await append(
    `update chain_receipts set rail = 'x402' where grant_id = (select grant_id from orders where id = '${other.id}')`,
    'chain_receipts',
  )
  expect((await found()).filter((finding) => !before.includes(finding))).toHaveLength(2)
})
