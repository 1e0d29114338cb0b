import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { developmentAsset } from '../../test/chain.ts'
import { freshDatabase, type TestDatabase } from '../../test/database.ts'
import { payerAccount, pendingOrder } from '../../test/orders.ts'
import { waitingX402 } from '../../test/waiting-x402.ts'
import { systemClock } from '../kernel/clock.ts'
import { auditLedger } from '../ledger/audit.ts'
import { heldByState } from '../ledger/held.ts'
import { holdGrant } from '../ledger/review-holds.ts'
import * as claims from './axon/store.ts'
import * as lifecycle from './orders/lifecycle.ts'
import * as orders from './orders/store.ts'
import { credit } from './x402/crediting/credit.ts'

const AMOUNT = 1_000_000n
const asset = developmentAsset('0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc')
const hash = (): string => `0x${randomBytes(32).toString('hex')}`
const wallet = (): string => `0x${randomBytes(20).toString('hex')}`

let database: TestDatabase
let before: string[]
beforeAll(async () => {
  database = await freshDatabase()
})
afterAll(() => database.drop())
beforeEach(async () => {
  before = await found()
})

async function found(): Promise<string[]> {
  return (await auditLedger(database.db)).map(({ check_name, subject }) => `${check_name} ${subject}`).sort()
}
const news = async () => (await found()).filter((finding) => !before.includes(finding))
/** Writes what the triggers of this table refuse. */
const force = (table: string, statement: string) =>
  database.sql(
    `alter table ${table} disable trigger append_only; ${statement}; alter table ${table} enable trigger append_only`,
  )

interface Credited {
  readonly id: string
  readonly accountId: bigint
}

async function creditedX402(): Promise<Credited> {
  const [payer, txHash] = [wallet(), hash()]
  const accountId = await payerAccount(database, payer)
  const payment = await database.db
    .transaction()
    .execute((tx) => waitingX402(tx, asset, { wallet: payer, accountId, txHash, amount: AMOUNT }))
  await credit({ db: database.db, clock: systemClock }, payment, { txHash, position: 0, block: 1n })
  return { id: String(payment.id), accountId }
}

async function creditedAxon(): Promise<Credited> {
  const accountId = await payerAccount(database, wallet())
  const at = new Date()
  const claim = await database.db.transaction().execute(async (tx) => {
    const made = await claims.claim(tx, { accountId, chainId: 31_337n, txHash: hash(), at, openMax: 9, refusedMax: 9 })
    if (made === 'too_many') throw new Error('it is the first')
    const given = await claims.grant(tx, made, { creditMicro: AMOUNT, reason: 'a test' })
    if ('takenBy' in given) throw new Error('nobody has it')
    const change = { grant_id: given.grantId, credited_micro: AMOUNT, completed_at: at }
    return claims.move(tx, made, { event: 'settle', to: 'completed', actor: 'a test', at, change })
  })
  return { id: String(claim.id), accountId }
}

/** An order that was credited and whose transfer is lost, so that its Credits are held. */
async function orderInDoubt(): Promise<Credited & { readonly holdId: string }> {
  const payer = wallet()
  const accountId = await payerAccount(database, payer)
  const id = await pendingOrder(database, asset, { accountId, payer, amount: AMOUNT })
  const txHash = hash()
  await database.db.transaction().execute(async (tx) => {
    const order = async () => {
      const locked = await orders.lock(tx, id)
      if (!locked) throw new Error('the order is there')
      return locked
    }
    await lifecycle.see(tx, await order(), { txHash, attemptId: crypto.randomUUID() }, new Date())
    await lifecycle.settle(tx, await order(), { chainId: 31_337n, txHash, logPosition: 0 }, new Date())
    await lifecycle.undo(tx, await order(), new Date())
  })
  const [row] = await database.sql<{ hold: string }>('select review_hold_id as hold from orders where id = $1', [id])
  return { id, accountId, holdId: String(row?.hold) }
}

const rails = [
  { rail: 'x402', table: 'x402_payments', make: creditedX402, amount: 'credit_micro' },
  { rail: 'axon', table: 'axon_claims', make: creditedAxon, amount: 'credited_micro' },
] as const

test.each(rails)('a credited $rail payment with another grant, account or amount is named', async (kind) => {
  const { rail, table, make, amount } = kind
  const [dearer, stolen, bare, other] = [await make(), await make(), await make(), await make()]
  expect(await news()).toEqual([])
  await database.sql(`update ${table} set ${amount} = ${amount} + 1 where id = $1`, [dearer.id])
  await database.sql(`update ${table} set account_id = $2 where id = $1`, [stolen.id, other.accountId])
  const without = rail === 'axon' ? `grant_id = null, credited_micro = null, status = 'failed'` : 'grant_id = null'
  await database.sql(`update ${table} set ${without} where id = $1`, [bare.id])
  expect(await news()).toEqual([dearer, stolen, bare].map(({ id }) => `${rail}_credited ${rail} ${id}`).sort())
})

test.each(rails)(
  'a $rail grant without its receipt, with another’s, or with one of another transfer is named',
  async (kind) => {
    const { rail, table, make } = kind
    const [bare, foreign, moved] = [await make(), await make(), await make()]
    const [grants, of] = [new Map<string, string>(), (id: string) => grants.get(id) ?? '']
    for (const { id } of [bare, foreign, moved]) {
      const [row] = await database.sql<{ grant_id: string }>(`select grant_id from ${table} where id = $1`, [id])
      grants.set(id, String(row?.grant_id))
    }
    await force('chain_receipts', `delete from chain_receipts where grant_id = ${of(bare.id)}`)
    await force('chain_receipts', `update chain_receipts set rail = 'order' where grant_id = ${of(foreign.id)}`)
    await force('chain_receipts', `update chain_receipts set tx_hash = '${hash()}' where grant_id = ${of(moved.id)}`)
    expect(await news()).toEqual(
      [
        `grant_receipt grant ${of(bare.id)}`,
        `grant_receipt grant ${of(foreign.id)}`,
        `receipt_of_payment ${rail} ${moved.id}`,
      ].sort(),
    )
  },
)

test('a receipt that names a rail which its grant is not of is named', async () => {
  const { id } = await creditedX402()
  const [grant] = await database.sql<{ id: string; tx: string }>(
    `select g.id, r.tx_hash as tx from credit_grants g join chain_receipts r on r.grant_id = g.id where source_id = $1`,
    [id],
  )
  await force('credit_grants', `update credit_grants set source = 'operator' where id = ${grant?.id}`)
  expect(await news()).toEqual([`receipt_grant transfer ${grant?.tx} 0`, `x402_credited x402 ${id}`])
})

test('a hold of a review is in order while the review is open and after it ended', async () => {
  const [open, restored] = [await orderInDoubt(), await orderInDoubt()]
  await database.db.transaction().execute(async (tx) => {
    const order = await orders.lock(tx, restored.id)
    if (order) await lifecycle.restore(tx, order, new Date())
  })
  expect(open.holdId).toMatch(/^\d+$/)
  // what is held because of a doubt is no call in flight
  expect(await heldByState(database.db)).toEqual({
    in_flight: 0,
    usage_unknown: 0,
    pending_settlement: 0,
    review: Number(AMOUNT),
  })
  expect(await news()).toEqual([])
})

test('a hold of a review that goes on after its review, ends before it, or belongs to none, is named', async () => {
  const [outlived, ended, unknown] = [await orderInDoubt(), await orderInDoubt(), await orderInDoubt()]
  await database.sql(`update orders set status = 'completed', review_hold_id = null where id = $1`, [outlived.id])
  const release = 'select ledger_end_grant_hold($1, (select grant_id from orders where id = $2), false, $3, $3)'
  await database.sql(release, [ended.holdId, ended.id, 'a test'])
  await force('holds', `update holds set subject = 'order nobody' where id = ${unknown.holdId}`)
  expect(await news()).toEqual(
    [
      ...[outlived, ended, unknown].map(({ holdId }) => `review_hold hold ${holdId}`),
      `review_holds order ${unknown.id}`,
    ].sort(),
  )
})

test('a hold of a payment that was never in doubt, and a review whose hold is not there, are named', async () => {
  const { id } = await creditedAxon()
  const lost = await orderInDoubt()
  const [row] = await database.sql<{ grant_id: string }>('select grant_id from axon_claims where id = $1', [id])
  const { holdId } = await database.db.transaction().execute((tx) => holdGrant(tx, BigInt(row?.grant_id ?? 0)))
  await database.sql('update orders set review_hold_id = -1 where id = $1', [lost.id])
  expect(await news()).toEqual(
    [`review_hold hold ${holdId}`, `review_hold hold ${lost.holdId}`, `review_holds order ${lost.id}`].sort(),
  )
})
