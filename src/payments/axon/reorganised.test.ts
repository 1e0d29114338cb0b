import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type AxonServer, type AxonSetting, openAxonSetting } from '../../../test/axon-setting.ts'
import { ledgerFixture } from '../../../test/ledger-fixture.ts'
import { auditLedger } from '../../ledger/audit.ts'
import type { Decision } from '../orders/review/decision.ts'
import { decideClaim } from './review/service.ts'

const CREDIT = 4_000_000n

let setting: AxonSetting
let server: AxonServer
let make: ReturnType<typeof ledgerFixture>
let wallet: string
let accountId: bigint

beforeAll(async () => {
  setting = await openAxonSetting()
  server = await setting.server()
  make = ledgerFixture(setting.database)
})
beforeEach(async () => {
  wallet = await setting.wallet()
  accountId = await setting.account(wallet)
  // so deep that the wallet's coins stay
  await setting.mine(6)
})
afterAll(async () => {
  expect(await auditLedger(setting.database.db)).toEqual([])
  await setting.stop()
})

const mine = async (blocks: number) => {
  for (let mined = 0; mined < blocks; mined += 1) {
    await setting.mine()
    await server.rounds.once()
  }
}
const balance = async () => {
  const [row] = await setting.database.sql<{ posted: bigint; held: bigint }>(
    'select sum(posted_micro)::bigint as posted, sum(held_micro)::bigint as held from buckets where account_id = $1',
    [accountId],
  )
  return { posted: BigInt(row?.posted ?? 0), held: BigInt(row?.held ?? 0) }
}
const claim = async (hash: string) => {
  const [row] = await setting.database.sql<{ id: bigint; status: string; hold: bigint | null }>(
    'select id, status, review_hold_id as hold from axon_claims where tx_hash = $1',
    [hash],
  )
  if (!row) throw new Error('nobody claims that hash')
  return row
}
const decide = (id: bigint, action: Decision['action']) =>
  decideClaim({ db: setting.database.db, clock: server.deps.clock, aloneLimitMicro: 100_000_000n }, BigInt(id), {
    action,
    reason: 'seen with the payer',
    operator: { kind: 'operator', name: 'ann' },
  })

/** A payment that was credited, of which so much is spent, and whose block is then lost. Gives it and its raw form. */
async function creditedAndLost(spentMicro: bigint) {
  const { body: quote } = await server.send(accountId, 'POST', 'quote', { credit_usd: '4' })
  const hash = await setting.pay(wallet, quote.expected_axon_wei)
  await mine(2)
  const raw = await setting.chain.rpc('eth_getRawTransactionByHash', hash)
  expect((await server.send(accountId, 'POST', 'redeem-hash', { tx_hash: hash })).body.status).toBe('completed')
  if (spentMicro > 0n) {
    const { id } = await make.hold(await make.key(accountId), spentMicro)
    await make.capture(id, spentMicro)
  }
  await setting.chain.rpc('anvil_reorg', 4, [])
  await mine(1)
  const lost = await claim(hash)
  expect(lost.status).toBe('review_required')
  expect(await auditLedger(setting.database.db)).toEqual([])
  return { hash, raw, id: lost.id }
}

test('the Credits of a payment whose block is lost are held as far as they are left, and free again when it is back', async () => {
  const { hash, raw } = await creditedAndLost(1_500_000n)
  expect(await balance()).toEqual({ posted: 2_500_000n, held: 2_500_000n })
  await setting.chain.rpc('eth_sendRawTransaction', raw)
  await mine(2)
  expect(await claim(hash)).toMatchObject({ status: 'completed', hold: null })
  expect(await balance()).toEqual({ posted: 2_500_000n, held: 0n })
})

test('of Credits that are spent nothing is held, and other Credits are not touched beyond what was given', async () => {
  const spent = await creditedAndLost(CREDIT)
  expect(await claim(spent.hash)).toMatchObject({ status: 'review_required', hold: null })
  expect(await decide(spent.id, 'dismiss')).toMatchObject({ outcome: 'done', takenMicro: 0n })
  await make.grant(accountId, 9_000_000n)
  await creditedAndLost(0n)
  expect(await balance()).toEqual({ posted: 13_000_000n, held: CREDIT })
})

test.each([
  ['credit', 'completed', { posted: 3_000_000n, held: 0n }, undefined],
  ['refund', 'closed', { posted: 0n, held: 0n }, 3_000_000n],
  ['dismiss', 'closed', { posted: 0n, held: 0n }, 3_000_000n],
] as const)('an operator’s %s ends what is held, once', async (action, status, left, takenMicro) => {
  const { hash, id, raw } = await creditedAndLost(1_000_000n)
  const decided = await decide(id, action)
  expect([decided.outcome, 'takenMicro' in decided ? decided.takenMicro : undefined]).toEqual(['done', takenMicro])
  expect(await claim(hash)).toMatchObject({ status, hold: null })
  expect(await balance()).toEqual(left)
  await expect(decide(id, action)).rejects.toMatchObject({
    code: expect.stringMatching(/order_(completed|not_in_review)/),
  })
  // it stays decided while the chain goes on without the payment
  await mine(2)
  expect(await claim(hash)).toMatchObject({ status, hold: null })
  // what the chain shows later gives nothing twice and takes nothing back
  await setting.chain.rpc('eth_sendRawTransaction', raw)
  await mine(3)
  expect(await balance()).toEqual(left)
  expect(await claim(hash)).toMatchObject({ status, hold: null })
})
