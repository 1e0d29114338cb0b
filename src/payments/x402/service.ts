import { type Authorization, signerOf } from '../../chains/authorizations/authorization.ts'
import { findUse, type Use } from '../../chains/authorizations/use.ts'
import { CallReverted, NodesDisagree, NodeUnavailable, RangeRefused } from '../../chains/chain.ts'
import type { Database } from '../../db/database.ts'
import * as accounts from '../../identity/accounts/store.ts'
import type { Caller } from '../../kernel/caller.ts'
import type { Clock } from '../../kernel/clock.ts'
import { Fault } from '../../kernel/errors.ts'
import { dividedRoundingDown, MICROCREDITS_MAX, MICROCREDITS_PER_CREDIT } from '../../kernel/money.ts'
import type { ContextTokens } from '../orders/context-port.ts'
import type { Proof } from './codec.ts'
import {
  MAX_TIMEOUT_SECONDS,
  NotSent,
  type Payment,
  PaymentRejected,
  type Settler,
  signingDomains,
  type TopUpSettings,
} from './model.ts'
import { networkName } from './offer.ts'
import { depthFor, noteBroadcast } from './settlement.ts'
import * as store from './store.ts'

/** What taking top-ups needs. */
export interface TopUpDeps {
  readonly db: Database
  readonly clock: Clock
  readonly settings: TopUpSettings
  readonly settler: Settler<unknown>
  readonly contextTokens: Pick<ContextTokens, 'verify'>
  /** How long a request waits for its payment to be settled. */
  readonly waitMs: number
  /** Looks at the chain for open payments at once. */
  readonly wake: () => void
}

/** A request that carries a proof. */
export interface TopUpRequest {
  readonly proof: Proof
  readonly amountMicro: bigint
  /** Whose credential came along, if one did. */
  readonly caller: Caller | undefined
  readonly contextToken: string | undefined
  readonly requestId: string
}

/** Clocks differ, and a transaction takes a while. */
const SECONDS_LEFT_MIN = 10n
/** Clients round up, and clocks differ. */
const SECONDS_LEFT_MAX = BigInt(MAX_TIMEOUT_SECONDS) + 600n
const POLL_MS = 50
const MINUTE_MS = 60_000

/**
 * Takes a proof of payment, once for each authorization, and gives what became of it within the time that a request
 * waits. Throws PaymentRejected when no money can move by the proof, and Faults for the rest; whatever is thrown,
 * nothing was sent.
 */
export async function topUp(
  deps: TopUpDeps,
  request: TopUpRequest,
): Promise<{ readonly payment: Payment; readonly replayed: boolean }> {
  const { settings } = deps
  const { proof } = request
  const { authorization } = proof
  refuseOtherMoney(settings, proof)
  // before anything is looked up: strangers learn nothing, and use up nothing
  await refuseUnsigned(settings, proof)
  const known = await store.findByIdentity(deps.db, identityOf(settings, authorization))
  const owner = await payingAccount(deps, authorization.payer, request.caller, known !== undefined)
  if (known) return { payment: await replayed(deps, known, request), replayed: true }

  refuseOtherTerms(deps, request)
  const accountId = await contextAccount(deps, request, owner)
  await refuseTooMany(deps, authorization.payer)
  const ready = await readyToSend(deps, request)
  const stored = await store_(deps, request, { accountId, ready })
  if (!stored.isNew) return { payment: await replayed(deps, stored.payment, request), replayed: true }
  return { payment: await sent(deps, stored.payment), replayed: false }
}

function identityOf({ asset }: TopUpSettings, { payer, nonce }: Authorization): store.Identity {
  return { chainId: BigInt(asset.chainId), token: asset.tokenAddress, payer, nonce }
}

function refuseOtherMoney(settings: TopUpSettings, { scheme, network, version, accepted }: Proof): void {
  if (scheme !== 'exact')
    throw new PaymentRejected('unsupported_scheme', 'Only the scheme exact is taken. Nothing was sent.')
  const ours = networkName(settings, version)
  if (network !== ours) throw new PaymentRejected('wrong_network', `Only ${ours} is taken. Nothing was sent.`)
  if (accepted && accepted.asset.toLowerCase() !== settings.asset.tokenAddress)
    throw new PaymentRejected('wrong_asset', `Only ${settings.asset.symbol} is taken. Nothing was sent.`)
}

async function refuseUnsigned(settings: TopUpSettings, { authorization, signature }: Proof): Promise<void> {
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
async function payingAccount(
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

function refuseOtherTerms({ settings, clock }: TopUpDeps, { proof, amountMicro }: TopUpRequest): void {
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
async function contextAccount(
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

async function refuseTooMany({ db, clock, settings }: TopUpDeps, payer: string): Promise<void> {
  const most = settings.paymentsPerMinutePerPayer
  const made = await store.countOfPayer(db, payer, new Date(clock.now().getTime() - MINUTE_MS))
  if (made >= most)
    throw new Fault('rate_limited', {
      message: `This wallet has paid ${made} times in the last minute; ${most} are allowed. Nothing was sent.`,
      fields: { limit_name: 'payments-of-wallet', limit_requests: String(most), limit_window_seconds: '60' },
      retryAfterMs: MINUTE_MS,
    })
}

/** What will be stored: that somebody sent it already, or what the settler needs to send it. */
type Ready = { readonly paid: Use & { kind: 'paid' } } | { readonly prepared: unknown }

/** Asks the chain before anything is stored: what it says now decides whether there is anything to send. */
async function readyToSend({ settings, settler }: TopUpDeps, { proof, amountMicro }: TopUpRequest): Promise<Ready> {
  const { authorization, signature } = proof
  try {
    const use = await findUse({
      nodes: settings.nodes,
      networkName: settings.asset.networkName,
      token: settings.asset.tokenAddress,
      authorization,
      confirmations: depthFor(settings, amountMicro),
      hints: [],
    })
    if (use.kind === 'paid') return { paid: use }
    if (use.kind === 'spent')
      throw use.canceled
        ? new PaymentRejected('authorization_canceled', 'The authorization was canceled. No money can move by it.')
        : new PaymentRejected(
            'authorization_used',
            'The nonce of this authorization was used by another one. No money can move by this proof.',
          )
    return { prepared: await settler.prepare(authorization, signature) }
  } catch (error) {
    throw unsent(error)
  }
}

/** What is answered when the chain or the settler cannot be asked: the same proof stays good. */
function unsent(error: unknown): unknown {
  const silent = [NodeUnavailable, NodesDisagree, RangeRefused, CallReverted].some((kind) => error instanceof kind)
  if (!silent && !(error instanceof NotSent)) return error
  return unavailable(error instanceof NotSent ? error.message : 'The chain cannot be asked at the moment.', error)
}

/** 503: nothing was sent, and the same proof may be tried again. */
export function unavailable(why: string, cause?: unknown): Fault {
  return new Fault('topup_unavailable', {
    message: `${why} Nothing was sent: send the same proof again in a moment, and sign no other.`,
    fields: { payment_state: 'unused', retryable: true, retry_action: 'retry_same_payment' },
    retryAfterMs: 2_000,
    cause,
  })
}

/** Stores payment, account and signed transaction together; gives the row that is there when another request was faster. */
async function store_(
  deps: TopUpDeps,
  request: TopUpRequest,
  how: { accountId: bigint | undefined; ready: Ready },
): Promise<{ payment: Payment; isNew: boolean }> {
  const attempt = () => insertAll(deps, request, how)
  // when the wallet got its account elsewhere at this moment, the whole transaction was undone: it finds that account now
  const payment = await attempt().catch((error: unknown) =>
    accounts.isWalletTaken(error) ? attempt() : Promise.reject(error),
  )
  if (payment) return { payment, isNew: true }
  const faster = await store.findByIdentity(deps.db, identityOf(deps.settings, request.proof.authorization))
  if (!faster) throw new Error('an authorization conflicts with a payment that is not there')
  return { payment: faster, isNew: false }
}

function insertAll(
  { db, clock, settings, settler }: TopUpDeps,
  { proof, requestId }: TopUpRequest,
  { accountId, ready }: { accountId: bigint | undefined; ready: Ready },
): Promise<Payment | undefined> {
  const { authorization, signature, version } = proof
  const { asset } = settings
  const now = clock.now()
  return db.transaction().execute(async (tx) => {
    const found = accountId ?? (await accounts.accountOfWallet(tx, authorization.payer))?.id
    const account =
      found ??
      (await accounts.insert(tx, {
        accountType: 'agent',
        walletAddress: authorization.payer,
        email: undefined,
        label: undefined,
      }))
    // its key just proved itself
    await accounts.noteProof(tx, authorization.payer)
    const paid = 'paid' in ready ? ready.paid : undefined
    const payment = await store.insert(tx, {
      chain_id: BigInt(asset.chainId),
      token_address: asset.tokenAddress,
      payer: authorization.payer,
      nonce: authorization.nonce,
      asset_id: asset.assetId,
      recipient_address: authorization.recipient,
      amount_micro: authorization.value,
      credit_micro: creditsFor(settings, authorization.value),
      rate_ppm: asset.ratePpm,
      valid_after: authorization.validAfter,
      valid_before: authorization.validBefore,
      signature,
      x402_version: version,
      settler: paid ? 'payer' : settler.kind,
      account_id: account,
      tx_hash: paid?.txHash ?? null,
      log_position: paid?.position ?? null,
      block: paid?.block ?? null,
      request_id: requestId,
      created_at: now,
      next_look_at: now,
    })
    if (payment && 'prepared' in ready) await settler.store(tx, payment, ready.prepared)
    return payment
  })
}

/** Microcredits for an amount of the asset. Refuses what buys nothing, or more than can be counted. */
export function creditsFor({ asset }: Pick<TopUpSettings, 'asset'>, amountMicro: bigint): bigint {
  const creditMicro = dividedRoundingDown(amountMicro * MICROCREDITS_PER_CREDIT, asset.ratePpm)
  if (creditMicro === 0n)
    throw new Fault('amount_below_minimum', {
      message: `${amountMicro} micro ${asset.symbol} buy less than one microcredit.`,
    })
  if (creditMicro > MICROCREDITS_MAX) throw new Fault('amount_above_maximum')
  return creditMicro
}

async function replayed(deps: TopUpDeps, known: Payment, { proof, amountMicro }: TopUpRequest): Promise<Payment> {
  const { authorization } = proof
  const same =
    known.amount_micro === authorization.value &&
    known.recipient_address === authorization.recipient &&
    known.amount_micro === amountMicro
  if (!same)
    throw new Fault('payment_conflict', {
      message: `This authorization was presented before, for ${known.amount_micro} micro units. It is never taken twice.`,
    })
  return settled(deps, known.id)
}

async function sent(deps: TopUpDeps, payment: Payment): Promise<Payment> {
  if (payment.settler === 'payer') return settled(deps, payment.id)
  const { promise: refused, reject } = Promise.withResolvers<never>()
  deps.settler.push(payment).then(
    () => noteBroadcast(deps, payment).then(deps.wake, () => undefined),
    (error: unknown) => {
      // anything else may have been sent all the same: the stored transaction is looked after
      if (error instanceof NotSent) reject(unsent(error))
    },
  )
  return Promise.race([settled(deps, payment.id), refused])
}

/** The payment once it is decided, or as it is when the request has waited long enough. */
async function settled({ db, clock, waitMs, wake }: TopUpDeps, id: bigint): Promise<Payment> {
  const untilMs = clock.monotonicMs() + waitMs
  for (;;) {
    wake()
    const payment = await store.find(db, id)
    if (!payment) throw new Error(`payment ${id} was there a moment ago`)
    const isOpen = payment.status === 'awaiting_settlement' || payment.status === 'pending'
    if (!isOpen || clock.monotonicMs() >= untilMs) return payment
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
}
