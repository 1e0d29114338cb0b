import { expect, test } from 'vitest'
import type { Price } from '../../config/models.ts'
import { microcredits } from '../../kernel/money.ts'
import { marginsOf, periodBounds, type UsedInPeriod } from './margin.ts'

const at = (text: string): Date => new Date(`2026-11-${text}Z`)
const price = (version: number, effectiveFrom: Date, cost?: number): Price => ({
  version,
  effectiveFrom,
  inputMicroPerM: microcredits(4_000_000),
  outputMicroPerM: microcredits(8_000_000),
  cachedInputMicroPerM: microcredits(4_000_000),
  cost:
    cost === undefined ? undefined : { inputMicroPerM: microcredits(cost), outputMicroPerM: microcredits(2 * cost) },
})
const used = (model: string, period: number, change: Partial<UsedInPeriod> = {}): UsedInPeriod => ({
  model,
  period,
  charged: 1000n,
  refunded: 0n,
  calls: 1n,
  errors: 0n,
  input: 100n,
  output: 50n,
  ...change,
})

const [from, to] = [at('10T00:00:00'), at('11T00:00:00')]

test('charges less what was given back stand against the configured cost of the tokens', () => {
  const models = [{ id: 'a', prices: [price(1, at('01T00:00:00'), 2_000_000)] }]
  const bounds = periodBounds(models, from, to)
  expect(bounds).toEqual([from])
  expect(marginsOf([used('a', 1, { refunded: 100n })], models, bounds, to)).toEqual([
    // 100 tokens at 2 and 50 at 4
    { model: 'a', calls: 1n, errors: 0n, netMicro: 900n, costMicro: 400n, netKnownMicro: 900n, complete: true },
  ])
})

test('a cost is never carried over: a version without one, and the hour in which the version changed, are not known', () => {
  const prices = [price(1, at('01T00:00:00'), 2_000_000), price(2, at('10T06:30:00'))]
  const models = [{ id: 'a', prices }]
  const bounds = periodBounds(models, from, to)
  expect(bounds).toEqual([from, at('10T06:00:00'), at('10T07:00:00')])
  const [margin] = marginsOf([used('a', 1), used('a', 2), used('a', 3)], models, bounds, to)
  expect(margin).toMatchObject({ netMicro: 3000n, costMicro: 400n, netKnownMicro: 1000n, complete: false })
})

test('what is no chat model, or has no cost, has no margin; what brought in most comes first', () => {
  const models = [{ id: 'a', prices: [price(1, at('01T00:00:00'))] }]
  const margins = marginsOf([used('a', 1), used('pictures', 1, { charged: 5000n })], models, [from], to)
  expect(margins.map(({ model, costMicro }) => [model, costMicro])).toEqual([
    ['pictures', undefined],
    ['a', undefined],
  ])
})
