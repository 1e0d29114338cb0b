import { expect, test } from 'vitest'
import { coinText, creditFor, parseWanted, usdText, weiFor } from './amounts.ts'

/** Numbers that are the same in every run, of any size. */
function* numbers(): Generator<bigint> {
  let seed = 88_172_645_463_325_252n
  for (;;) {
    seed ^= (seed << 13n) & 0xffff_ffff_ffff_ffffn
    seed ^= seed >> 7n
    seed ^= (seed << 17n) & 0xffff_ffff_ffff_ffffn
    yield seed
  }
}

test('what is asked for a credit buys exactly that credit, at any rate, and a wei less buys less', () => {
  const random = numbers()
  const next = (below: bigint) => 1n + ((random.next().value as bigint) % below)
  for (let round = 0; round < 2_000; round += 1) {
    const creditMicro = next(10n ** next(12n))
    // from a millionth of a dollar to a million dollars for a coin
    const rate = next(10n ** (12n + next(12n)))
    const wei = weiFor(creditMicro, rate)
    // a coin of which a wei is worth more than a microcredit cannot be that exact
    if (rate < 10n ** 30n) expect(creditFor(wei, rate)).toBe(creditMicro)
    expect(creditFor(wei - 1n, rate)).toBeLessThan(creditMicro)
  }
})

test('999 wei of dust are worth nothing at any price of a coin below a billion dollars', () => {
  const rate = 10n ** 9n * 10n ** 18n
  expect(creditFor(weiFor(5_000_000n, rate) + 999n, rate)).toBe(5_000_000n)
})

test('amounts are read and written to their last place', () => {
  expect(parseWanted({ credit_usd: '0.000001' })).toEqual({ mode: 'credit_usd', creditMicro: 1n })
  expect(parseWanted({ pay_axon: '1.000000000000000001' })).toEqual({ mode: 'pay_axon', wei: 10n ** 18n + 1n })
  expect([usdText(12_500_000n), usdText(0n), coinText(1n), coinText(25n * 10n ** 17n)]).toEqual([
    '12.5',
    '0',
    '0.000000000000000001',
    '2.5',
  ])
})
