import { askAgreed } from '../../../chains/chain.ts'
import { isPlainAccount } from '../../../chains/start-check.ts'
import type { Caller } from '../../../kernel/caller.ts'
import { Fault } from '../../../kernel/errors.ts'
import { MICROCREDITS_MAX } from '../../../kernel/money.ts'
import { creditFor, parseWanted, usdText, weiFor } from '../amounts.ts'
import type { AxonDeps } from '../deps.ts'
import { type Coin, OPEN_QUOTES_MAX, QUOTE_LIFETIME_MS } from '../settings.ts'
import * as store from './store.ts'

/** Wei that a quote's amount may differ by, so that no two open ones are the same: worth nothing. */
const DUST_MAX = 999n
const RETRY_MS = 30_000

/** What a quote is asked for with: exactly one of the two. */
export interface QuoteBody {
  readonly credit_usd?: string
  readonly pay_axon?: string
}

/**
 * Locks a rate for ten minutes and names the exact amount that stands for it. Refuses with `invalid_quote_request`,
 * `amount_below_minimum`, `amount_above_maximum`, `wallet_not_linked`, `payer_is_contract`, `rate_unavailable`,
 * `asset_unavailable`, `too_many_open_quotes`.
 */
export async function makeQuote(deps: AxonDeps, caller: Caller, body: QuoteBody): Promise<store.Quote> {
  const wanted = parseWanted(body)
  const coin = openCoin(deps)
  const payer = await payerOf(deps, coin, caller.accountId)
  const rate = await deps.rates.current()
  const wei = wanted.mode === 'pay_axon' ? wanted.wei : weiFor(wanted.creditMicro, rate.rate)
  const creditMicro = wanted.mode === 'pay_axon' ? creditFor(wanted.wei, rate.rate) : wanted.creditMicro
  refuseOutsideLimits(coin, creditMicro, wanted.mode)
  const { chainId, payToAddress } = coin.config
  const own = { accountId: caller.accountId, chainId: BigInt(chainId), payToAddress }
  return deps.db.transaction().execute(async (tx) => {
    await store.lockAccount(tx, caller.accountId)
    const now = deps.clock.now()
    const open = await store.countOpen(tx, caller.accountId, now)
    if (open >= OPEN_QUOTES_MAX)
      throw new Fault('too_many_open_quotes', {
        message: `This account has ${open} quotes whose rate is locked. Pay one of them, or wait until one has ended.`,
        retryAfterMs: 60_000,
      })
    const taken = await store.takenAmounts(tx, { ...own, from: wei, to: wei + DUST_MAX })
    let expected = wei
    while (taken.has(expected)) expected += 1n
    if (expected > wei + DUST_MAX)
      throw new Fault('too_many_open_quotes', {
        message: 'Too many quotes of this amount were made today. Ask for another amount.',
        retryAfterMs: 3_600_000,
      })
    return store.insert(tx, {
      account_id: caller.accountId,
      mode: wanted.mode,
      chain_id: own.chainId,
      payer_address: payer,
      pay_to_address: payToAddress,
      expected_wei: String(expected),
      credit_micro: creditMicro,
      rate_id: rate.id,
      rate: String(rate.rate),
      created_at: now,
      expires_at: new Date(now.getTime() + QUOTE_LIFETIME_MS),
    })
  })
}

/** An order by its number, when this caller made it. */
export async function ownQuote(deps: AxonDeps, caller: Caller, id: bigint): Promise<store.Quote> {
  const quote = await store.find(deps.db, id)
  if (!quote) throw new Fault('order_not_found')
  if (quote.account_id !== caller.accountId)
    throw new Fault('not_original_account', { message: 'This order was made by another account.' })
  return quote
}

function openCoin({ coin, status }: AxonDeps): Coin {
  if (!coin) throw new Fault('asset_unavailable', { message: 'No native token is taken here. Pay with a stablecoin.' })
  const reason = coin.config.enabled ? (status().usable ? undefined : 'its network cannot be reached') : 'it is paused'
  if (reason !== undefined)
    throw new Fault('asset_unavailable', {
      message: `${coin.config.symbol} cannot be paid with right now: ${reason}. Try again later. Do not pay without a quote.`,
      retryAfterMs: RETRY_MS,
    })
  return coin
}

/** The caller's wallet to pay from: an account whose transactions are its own. */
async function payerOf(deps: AxonDeps, { chain, config }: Coin, accountId: bigint): Promise<string> {
  const payer = (await deps.payerWallets(accountId))[0]?.toLowerCase()
  if (payer === undefined) throw new Fault('wallet_not_linked')
  const code = await askAgreed(chain, 'the code of a payer', (node) => node.code(payer)).catch((cause: unknown) => {
    throw new Fault('asset_unavailable', {
      cause,
      retryAfterMs: RETRY_MS,
      message: `${config.networkName} cannot be reached, so the paying wallet cannot be checked. Try again later.`,
    })
  })
  if (isPlainAccount(code)) return payer
  throw new Fault('payer_is_contract', {
    message: `The linked wallet ${payer} is a contract on ${config.networkName}. Only a plain account can pay: link one.`,
  })
}

function refuseOutsideLimits({ config }: Coin, creditMicro: bigint, field: string): void {
  const { minTopupMicro, maxTopupMicro } = config
  const fields = { field, min_topup_usd: usdText(minTopupMicro), max_topup_usd: usdText(maxTopupMicro) }
  if (creditMicro < minTopupMicro || creditMicro === 0n)
    throw new Fault('amount_below_minimum', {
      message: `The smallest top-up is ${usdText(minTopupMicro)} dollars; this would be ${usdText(creditMicro)}.`,
      fields,
    })
  if (creditMicro > maxTopupMicro || creditMicro > MICROCREDITS_MAX)
    throw new Fault('amount_above_maximum', {
      message: `The largest top-up is ${usdText(maxTopupMicro)} dollars; this would be ${usdText(creditMicro)}.`,
      fields,
    })
}
