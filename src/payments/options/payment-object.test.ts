import { expect, test } from 'vitest'
import { devUsdc } from '../../../test/orders-fixture.ts'
import { paymentObject } from './payment-object.ts'

const chains = (assets: (typeof devUsdc)[], healthy = true) => ({ assets: () => assets, isHealthy: () => healthy })

test('what is missing is asked for in the first asset that can be paid with, rounded up and at least its smallest order', () => {
  const dear = { ...devUsdc, symbol: 'DEAR', rate_ppm: 3_333_333n }
  const payment = (micro: bigint, assets: (typeof devUsdc)[]) => paymentObject(chains(assets), micro).payment
  expect(payment(1_000_001n, [{ ...devUsdc, enabled: false }, dear])).toEqual({
    network: 'Development chain',
    currency: 'DEAR',
    pay_to_address: expect.stringMatching(/^0x(ec){20}$/i),
    amount: '3333337',
  })
  expect(payment(1n, [devUsdc])?.amount).toBe('10000')
})

test('nothing is asked for while no asset can be paid with', () => {
  expect(paymentObject(chains([]), 5n)).toEqual({})
  expect(paymentObject(chains([devUsdc], false), 5n)).toEqual({})
})
