import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { developmentAsset, type TestChain, testChain, watchedThrough } from '../../../test/chain.ts'
import { freshDatabase, type TestDatabase } from '../../../test/database.ts'
import { orderOf, payerAccount, pendingOrder, registeredHash, reservedAttempt } from '../../../test/orders.ts'
import { systemClock } from '../../kernel/clock.ts'
import { systemRandom } from '../../kernel/random.ts'
import { auditLedger } from '../../ledger/audit.ts'
import { chainRound } from './worker.ts'

let database: TestDatabase
let chain: TestChain
let payer: string
let accountId: bigint

beforeAll(async () => {
  ;[database, chain] = await Promise.all([freshDatabase(), testChain()])
  payer = chain.payers[0] ?? ''
  accountId = await payerAccount(database, payer)
})
afterAll(async () => {
  expect(await auditLedger(database.db)).toEqual([])
  await chain.stop()
  await database.drop()
})

const troubles: string[] = []
const watch = () =>
  chainRound(
    { db: database.db, clock: systemClock, random: systemRandom, reconcileMs: 0, onTrouble: (_, error) => troubles.push(error instanceof Error ? `${error.stack}` : 'unknown') },
    watchedThrough([chain.rpcUrl], [developmentAsset(chain.recipient)]),
  )

let round: ReturnType<typeof watch>
beforeEach(async () => {
  troubles.length = 0
  round = watch()
  await round.once()
  expect(troubles).toEqual([])
})

const balance = async () => (await database.sql<{ sum: string }>('select coalesce(sum(amount_micro), 0) as sum from credit_grants'))[0]?.sum
let nextAmount = 1_000_000n
const anAmount = () => {
  nextAmount += 1n
  return nextAmount
}

describe('a payment', () => {
  test('is found and credited exactly once with no hash registered and no attempt reserved', async () => {
    const before = Number(await balance())
    const amount = anAmount()
    const id = await pendingOrder(database, developmentAsset(chain.recipient), { accountId, payer, amount })
    const hash = await chain.pay({ from: payer, amount })
    await chain.mine()
    await round.once()
    expect(await orderOf(database, id)).toMatchObject({ status: 'confirming', tx_hash: hash })
    await chain.mine()
    await round.once()
    await round.once()
    expect(troubles).toEqual([])
    expect(await orderOf(database, id)).toMatchObject({ status: 'completed', tx_hash: hash, credit_micro: amount })
    expect(Number(await balance()) - before).toBe(Number(amount))
    const outbox = await database.sql<{ event: string }>('select event from outbox where object_id = $1', [id])
    expect(outbox).toEqual([{ event: 'order.completed' }])
  })
})

void registeredHash
void reservedAttempt
