import { formatDecimal, parseDecimal } from '../../kernel/decimal.ts'
import { Fault } from '../../kernel/errors.ts'
import { dividedRoundingDown, dividedRoundingUp, MICROCREDITS_MAX } from '../../kernel/money.ts'

/** Decimal places of the coin (wei), of its rate, and of dollars as they are quoted. */
const COIN_PLACES = 18
const USD_PLACES = 6
/** Wei times a rate with 18 places, over this, is microcredits: 18 + 18 - 6. */
const WEI_RATE_PER_MICRO = 10n ** 30n
/** No coin has more wei than this; it keeps what is stored and multiplied small. */
const WEI_MAX = 10n ** 36n

/** Wei that buy this many microcredits at a rate of dollars for a coin, with 18 places. Rounded up: what is paid is never too little. */
export function weiFor(creditMicro: bigint, rate: bigint): bigint {
  return dividedRoundingUp(creditMicro * WEI_RATE_PER_MICRO, rate)
}

/** Microcredits that this much wei buys. Rounded down: nothing is given that was not paid. */
export function creditFor(wei: bigint, rate: bigint): bigint {
  return dividedRoundingDown(wei * rate, WEI_RATE_PER_MICRO)
}

/** What is asked for, in one of the two ways. */
export type QuoteWanted =
  | { readonly mode: 'credit_usd'; readonly creditMicro: bigint }
  | { readonly mode: 'pay_axon'; readonly wei: bigint }

/** Reads the body of a quote: exactly one of the two, a plain decimal above zero. Refuses with `invalid_quote_request`. */
export function parseWanted(body: { readonly credit_usd?: string; readonly pay_axon?: string }): QuoteWanted {
  const { credit_usd: creditUsd, pay_axon: payAxon } = body
  if ((creditUsd === undefined) === (payAxon === undefined))
    throw new Fault('invalid_quote_request', { message: 'Send exactly one of credit_usd and pay_axon.' })
  if (creditUsd !== undefined) {
    const creditMicro = parseDecimal(creditUsd, USD_PLACES)
    if (!creditMicro || creditMicro > MICROCREDITS_MAX) throw unreadable('credit_usd', USD_PLACES, '12.5')
    return { mode: 'credit_usd', creditMicro }
  }
  const wei = parseDecimal(payAxon ?? '', COIN_PLACES)
  if (!wei || wei > WEI_MAX) throw unreadable('pay_axon', COIN_PLACES, '0.25')
  return { mode: 'pay_axon', wei }
}

function unreadable(field: string, places: number, example: string): Fault {
  return new Fault('invalid_quote_request', {
    message: `${field} must be a string with a plain decimal above zero and at most ${places} places, such as "${example}".`,
    fields: { field },
  })
}

/** Dollars as the API writes them. */
export const usdText = (micro: bigint): string => formatDecimal(micro, USD_PLACES)

/** An amount of the coin, to the last wei. */
export const coinText = (wei: bigint): string => formatDecimal(wei, COIN_PLACES)

/** A rate: dollars for one coin. */
export const rateText = (rate: bigint): string => formatDecimal(rate, COIN_PLACES)
