import type { Authorization } from '../../chains/authorizations/authorization.ts'
import { findUse, type Use } from '../../chains/authorizations/use.ts'
import { CallReverted, NodesDisagree, NodeUnavailable, RangeRefused } from '../../chains/chain.ts'
import * as accounts from '../../identity/accounts/store.ts'
import { Fault } from '../../kernel/errors.ts'
import { dividedRoundingDown, MICROCREDITS_MAX, MICROCREDITS_PER_CREDIT } from '../../kernel/money.ts'
import * as checks from './checks.ts'
import {
  NotSent,
  type Payment,
  PaymentRejected,
  type TopUpDeps,
  type TopUpRequest,
  type TopUpSettings,
} from './model.ts'
import { depthFor, noteBroadcast } from './settlement.ts'
import * as store from './store.ts'

const POLL_MS = 50

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
  checks.refuseOtherMoney(settings, proof)
  // before anything is looked up: strangers learn nothing, and use up nothing
  await checks.refuseUnsigned(settings, proof)
  const known = await store.findByIdentity(deps.db, identityOf(settings, authorization))
  const owner = await checks.payingAccount(deps, authorization.payer, request.caller, known !== undefined)
  if (known) return { payment: await replayed(deps, known, request), replayed: true }

  checks.refuseOtherTerms(deps, request)
  const accountId = await checks.contextAccount(deps, request, owner)
  await checks.refuseTooMany(deps, authorization.payer)
  const ready = await readyToSend(deps, request)
  if ('known' in ready) return { payment: await replayed(deps, ready.known, request), replayed: true }
  const stored = await storeOnce(deps, request, { accountId, ready })
  if (!stored.isNew) return { payment: await replayed(deps, stored.payment, request), replayed: true }
  return { payment: await sent(deps, stored.payment), replayed: false }
}

function identityOf({ asset }: TopUpSettings, { payer, nonce }: Authorization): store.Identity {
  return { chainId: BigInt(asset.chainId), token: asset.tokenAddress, payer, nonce }
}

/** What will be stored: that somebody sent it already, or what the settler needs to send it. */
type Ready = { readonly paid: Use & { kind: 'paid' } } | { readonly prepared: unknown }

/** Asks the chain before anything is stored: what it says now decides whether there is anything to send. */
async function readyToSend(deps: TopUpDeps, request: TopUpRequest): Promise<Ready | { readonly known: Payment }> {
  const { authorization, signature } = request.proof
  try {
    const paid = await paidAlready(deps, request)
    if (paid) return { paid }
    try {
      return { prepared: await deps.settler.prepare(authorization, signature) }
    } catch (error) {
      if (error instanceof PaymentRejected) return await carriedOutMeanwhile(deps, request, error)
      throw error
    }
  } catch (error) {
    throw unsent(error)
  }
}

/**
 * A proof is rejected, too, when another copy of it, or somebody else, has carried it out since it was looked at: then
 * it is no reason to sign another. Throws the rejection when that is not so.
 */
async function carriedOutMeanwhile(
  deps: TopUpDeps,
  request: TopUpRequest,
  rejection: PaymentRejected,
): Promise<Ready | { readonly known: Payment }> {
  const known = await store.findByIdentity(deps.db, identityOf(deps.settings, request.proof.authorization))
  if (known) return { known }
  const paid = await paidAlready(deps, request)
  if (paid) return { paid }
  throw rejection
}

/** The transfer of an authorization that the chain shows already. Throws PaymentRejected when its nonce is spent otherwise. */
async function paidAlready(
  { settings }: Pick<TopUpDeps, 'settings'>,
  { proof, amountMicro }: TopUpRequest,
): Promise<(Use & { kind: 'paid' }) | undefined> {
  const use = await findUse({
    nodes: settings.nodes,
    networkName: settings.asset.networkName,
    token: settings.asset.tokenAddress,
    authorization: proof.authorization,
    confirmations: depthFor(settings, amountMicro),
    hints: [],
  })
  if (use.kind === 'paid') return use
  if (use.kind === 'unused') return undefined
  throw use.canceled
    ? new PaymentRejected('authorization_canceled', 'The authorization was canceled. No money can move by it.')
    : new PaymentRejected(
        'authorization_used',
        'The nonce of this authorization was used by another one. No money can move by this proof.',
      )
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
    fields: { payment_state: 'unused', retry_action: 'retry_same_payment' },
    retryAfterMs: 2_000,
    cause,
  })
}

/** Stores payment, account and signed transaction together; gives the row that is there when another request was faster. */
async function storeOnce(
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
    (isSent) => (isSent ? noteBroadcast(deps, payment).then(deps.wake, () => undefined) : undefined),
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
