import { Fault } from '../../kernel/errors.ts'

/** Parses an amount of micro units as the API takes it: digits, no sign, no leading zero. */
export function parseAmount(text: string): bigint {
  if (!/^[1-9][0-9]{0,17}$/.test(text)) {
    throw new Fault('invalid_amount', {
      message:
        'amount_micro must be a string of 1 to 18 digits without a leading zero, in micro units: "5000000" is 5.',
      fields: { field: 'amount_micro' },
    })
  }
  return BigInt(text)
}

/** Refuses an amount that is too small or too large, with the bound. */
export function refuseOutsideLimits(amountMicro: bigint, minimum: bigint, maximum: bigint, symbol: string): void {
  const fields = { field: 'amount_micro' }
  if (amountMicro < minimum)
    throw new Fault('amount_below_minimum', {
      message: `The smallest amount is ${minimum} micro ${symbol}; ${amountMicro} was asked for.`,
      fields,
    })
  if (amountMicro > maximum)
    throw new Fault('amount_above_maximum', {
      message: `The largest amount is ${maximum} micro ${symbol}; ${amountMicro} was asked for. Split it over several orders.`,
      fields,
    })
}
