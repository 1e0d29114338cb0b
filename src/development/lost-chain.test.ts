import { expect, test } from 'vitest'
import { testChain } from '../../test/chain.ts'
import { orderOf } from '../../test/orders.ts'
import { openSetting } from '../../test/payment-setting.ts'
import { systemClock } from '../kernel/clock.ts'
import { auditLedger } from '../ledger/audit.ts'
import { reconciliationReports } from '../payments/watcher/reconciliation/service.ts'
import { forgetLostChain } from './lost-chain.ts'

test('a development chain that begins anew is read anew: Credits of the former one stay, and the next payment is credited', async () => {
  const setting = await openSetting()
  const anew = await testChain()
  const chain = {
    chainId: 31_337,
    assetId: 'dev_usdc',
    recipientAddress: anew.recipient,
    rpcUrl: anew.rpcUrl,
  } as const
  const { database, payer } = setting
  expect(await forgetLostChain(database.url, systemClock, chain)).toBeUndefined()
  const round = setting.rounds()
  await round.once()
  const former = await setting.order()
  await setting.chain.pay({ from: payer, amount: former.amount })
  await setting.chain.mine(4)
  await round.once()
  expect((await orderOf(database, former.id)).status).toBe('completed')

  expect(await forgetLostChain(database.url, systemClock, chain)).toBe(1)
  expect(await orderOf(database, former.id)).toMatchObject({ status: 'completed', review_resolution: 'credited' })
  const next = await setting.order()
  await anew.pay({ from: payer, amount: next.amount })
  await anew.mine(3)
  const after = setting.rounds({ urls: [anew.rpcUrl] })
  await after.once()
  expect(after.status()).toMatchObject({ healthy: true, behind: 0n })
  expect((await orderOf(database, next.id)).status).toBe('completed')
  const [funds] = await database.sql(
    'select sum(posted_micro)::text as posted, sum(held_micro)::text as held from buckets',
  )
  expect(funds).toEqual({ posted: String(former.amount + next.amount), held: '0' })
  expect(await reconciliationReports(database.db, ['dev_usdc'], new Date())).toMatchObject([{ ok: true, drift: 0n }])
  expect(await auditLedger(database.db)).toEqual([])
  await anew.stop()
  await setting.stop()
})
