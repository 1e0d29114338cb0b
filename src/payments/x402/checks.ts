import { signerOf } from '../../chains/authorizations/authorization.ts'
import * as accounts from '../../identity/accounts/store.ts'
import type { Caller } from '../../kernel/caller.ts'
import { Fault } from '../../kernel/errors.ts'
import type { Proof } from './codec.ts'
import {
  MAX_TIMEOUT_SECONDS,
  PaymentRejected,
  signingDomains,
  type TopUpDeps,
  type TopUpRequest,
  type TopUpSettings,
} from './model.ts'
import { networkName } from './offer.ts'
import * as store from './store.ts'

// Everything that can be wrong with a proof before the chain is asked. Nothing is written here.

/** Clocks differ, and a transaction takes a while. */
const SECONDS_LEFT_MIN = 10n
/** Clients round up, and clocks differ. */
const SECONDS_LEFT_MAX = BigInt(MAX_TIMEOUT_SECONDS) + 600n
const MINUTE_MS = 60_000

/** Refuses another scheme, network or token than the one that is taken. */
export function refuseOtherMoney(settings: TopUpSettings, { scheme, network, version, accepted }: Proof): void {
  if (scheme !== 'exact')
    throw new PaymentRejected('unsupported_scheme', 'Only the scheme exact is taken. Nothing was sent.')
  const ours = networkName(settings, version)
  if (network !== ours) throw new PaymentRejected('wrong_network', `Only ${ours} is taken. Nothing was sent.`)
  if (accepted && accepted.asset.toLowerCase() !== settings.asset.tokenAddress)
    throw new PaymentRejected('wrong_asset', `Only ${settings.asset.symbol} is taken. Nothing was sent.`)
}

/** Refuses a proof that its payer did not sign. */
export async function refuseUnsigned(settings: TopUpSettings, { authorization, signature }: Proof): Promise<void> {
  for (const domain of signingDomains(settings))
    if ((await signerOf(authorization, signature, domain)) === authorization.payer) return
  const code = await settings.nodes[0]?.code(authorization.payer).catch(() => '0x')
  if (code !== undefined && code !== '0x')
    throw new PaymentRejected(
      'unsupported_wallet',
      'The paying wallet is a contract. Only ordinary wallets can pay. Nothing was sent.',
    )
  throw new PaymentRejected('invalid_signature', 'The signature is not the paying wallet’s. Nothing was sent.')
}

/** Whose wallet pays; undefined for a wallet that nobody has. Refuses accounts that may not pay and credentials of others. */
export async function payingAccount(
  { db }: TopUpDeps,
  payer: string,
  caller: Caller | undefined,
  isKnown: boolean,
): Promise<bigint | undefined> {
  const account = await accounts.accountOfWallet(db, payer)
  if (caller && account?.id !== caller.accountId) throw new Fault('payer_of_another_account')
  // what was paid before stays readable to whoever holds the wallet
  if (account && account.status !== 'active' && !isKnown)
    throw new Fault(account.status === 'banned' ? 'account_banned' : 'account_deactivated')
  return account?.id
}

/** Refuses another recipient or amount, and a window that is over, not open yet, or too long. */
export function refuseOtherTerms({ settings, clock }: TopUpDeps, { proof, amountMicro }: TopUpRequest): void {
  const { authorization, accepted } = proof
  const refuse = (reason: PaymentRejected['reason'], message: string) => {
    throw new PaymentRejected(reason, `${message} Nothing was sent.`)
  }
  if (authorization.recipient !== settings.payTo || (accepted && accepted.payTo.toLowerCase() !== settings.payTo))
    refuse('wrong_recipient', `Payments go to ${settings.payTo}, and this one was signed for another address.`)
  if (authorization.value !== amountMicro || (accepted && accepted.amount !== String(amountMicro)))
    refuse('amount_mismatch', `${amountMicro} micro units are asked for, and ${authorization.value} were signed.`)
  const now = BigInt(Math.floor(clock.now().getTime() / 1000))
  if (authorization.validBefore < now + SECONDS_LEFT_MIN)
    refuse('expired', 'The authorization is past its time, or has less than 10 seconds left.')
  if (authorization.validAfter > now) refuse('not_yet_valid', 'The authorization is not valid yet.')
  if (authorization.validBefore > now + SECONDS_LEFT_MAX)
    refuse('valid_for_too_long', `The authorization is valid for more than ${SECONDS_LEFT_MAX} seconds.`)
}

/** Who is credited: the account that a payment context names, else the paying wallet's; undefined: it has none yet. */
export async function contextAccount(
  { contextTokens, clock }: TopUpDeps,
  { contextToken, amountMicro }: TopUpRequest,
  owner: bigint | undefined,
): Promise<bigint | undefined> {
  if (contextToken === undefined) return owner
  const context = await contextTokens.verify(contextToken, clock.now())
  if (context === 'invalid') throw new Fault('invalid_context')
  if (context === 'expired') throw new Fault('context_expired')
  if (context.payerAccountId !== owner)
    throw new Fault('context_mismatch', {
      message: 'The payment context was made by another account than the one whose wallet pays. Nothing was sent.',
    })
  if (context.amountMicro !== amountMicro)
    throw new Fault('context_mismatch', {
      message: `The payment context is for ${context.amountMicro} micro units, the payment for ${amountMicro}. Nothing was sent.`,
    })
  return context.recipientAccountId
}

/** Holds a wallet to its number of new payments in a minute. */
export async function refuseTooMany({ db, clock, settings }: TopUpDeps, payer: string): Promise<void> {
  const most = settings.paymentsPerMinutePerPayer
  const made = await store.countOfPayer(db, payer, new Date(clock.now().getTime() - MINUTE_MS))
  if (made >= most)
    throw new Fault('rate_limited', {
      message: `This wallet has paid ${made} times in the last minute; ${most} are allowed. Nothing was sent.`,
      fields: { limit_name: 'payments-of-wallet', limit_requests: String(most), limit_window_seconds: '60' },
      retryAfterMs: MINUTE_MS,
    })
}
