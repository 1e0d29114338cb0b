import { errorOf, FareboxError, UnavailableError } from './errors.ts'
import type { Answer } from './requests.ts'
import { type ApiAnswer, bodyOf, retryAfterMs, type Transport } from './transport.ts'

/** What signs typed data: an account of viem, or anything that signs EIP-712. */
export interface TypedDataSigner {
  readonly address: string
  signTypedData(data: TransferAuthorization): Promise<string>
}

/** An EIP-3009 authorization as EIP-712 typed data. */
export interface TransferAuthorization {
  readonly domain: { name: string; version: string; chainId: number; verifyingContract: `0x${string}` }
  readonly types: { readonly TransferWithAuthorization: ReadonlyArray<{ name: string; type: string }> }
  readonly primaryType: 'TransferWithAuthorization'
  readonly message: {
    from: `0x${string}`
    to: `0x${string}`
    value: bigint
    validAfter: bigint
    validBefore: bigint
    nonce: `0x${string}`
  }
}

/** A payment that arrived (spec 2.6). */
export type TopUp = Answer<'/v1/payments/topup', 'get'>

/** A signed payment: whoever sends it, and however often, it is one payment. It is safe to store, and worth nothing to others. */
export interface SignedPayment {
  readonly amountMicro: string
  readonly proof: string
}

/** What to pay. */
export interface TopUpRequest {
  /** In micro units of the asset, which the server names: never more is signed. */
  readonly amountMicro: bigint
  /** Such as `eip155:8453`; the first offer unless given. */
  readonly network?: string
  /** The token's contract, where no other may be asked for. */
  readonly asset?: string
  /** Called before the payment is sent: keep it, and after a crash `resume` it instead of paying again. */
  readonly onSigned?: (payment: SignedPayment) => void | Promise<void>
  readonly signal?: AbortSignal
}

/** The payment is not credited, and must not be made again: it is under review, or its outcome is still unknown. */
export class PaymentUnsettledError extends FareboxError {
  override name = 'PaymentUnsettledError'
  /** Of the last answer: `review_required` takes the operator, with `payment_id` of the body; "" when none came. */
  readonly paymentStatus: string
  /** Give it to `resume`. */
  readonly payment: SignedPayment

  constructor(answer: Pick<ApiAnswer, 'status' | 'body'>, payment: SignedPayment) {
    const { message = 'No answer tells what became of the payment.', status = '' } = answer.body
    super(answer.status, {
      code: 'payment_unsettled',
      ...answer.body,
      message: `${message} Resume it: do not pay again.`,
    })
    this.paymentStatus = String(status)
    this.payment = payment
  }
}

interface Offer {
  readonly scheme: string
  readonly network: string
  readonly amount: string
  readonly asset: `0x${string}`
  readonly payTo: `0x${string}`
  readonly maxTimeoutSeconds: number
  readonly extra?: { readonly name?: string; readonly version?: string }
}

const FIELDS = [
  { name: 'from', type: 'address' },
  { name: 'to', type: 'address' },
  { name: 'value', type: 'uint256' },
  { name: 'validAfter', type: 'uint256' },
  { name: 'validBefore', type: 'uint256' },
  { name: 'nonce', type: 'bytes32' },
] as const
const POLL_MS = 2_000
/** Whatever the server asks for: one that says 0 is not to be asked without a pause. */
const POLL_MS_LEAST = 200
const PATIENCE_MS = 10 * 60_000
/** A clock that is a little ahead makes no proof of the future. */
const BACKDATED_SECONDS = 600n
const encode = (value: unknown): string => btoa(String.fromCharCode(...new TextEncoder().encode(JSON.stringify(value))))
const decode = <T>(text: string): T =>
  JSON.parse(new TextDecoder().decode(Uint8Array.from(atob(text), (character) => character.charCodeAt(0)))) as T
const pathOf = (amountMicro: bigint | string): string => `/v1/payments/topup?amount_micro=${amountMicro}`

/**
 * Pays by x402: asks what it costs, signs one authorization, and sends that same proof until the server says
 * `credited`. Rejects with PaymentRejectedError when no money can move, with PaymentUnsettledError when it may.
 */
export async function topUp(transport: Transport, signer: TypedDataSigner, request: TopUpRequest): Promise<TopUp> {
  const { amountMicro, signal } = request
  const asked = await transport.once({ path: pathOf(amountMicro), signal })
  const header = asked.headers.get('payment-required')
  if (asked.status !== 402 || header === null) throw errorOf(asked.status, asked.body, retryAfterMs(asked.headers))
  const required = decode<{ accepts: Offer[]; resource?: unknown }>(header)
  const offer = chosen(required.accepts, request)
  const authorization = await signed(signer, offer, transport.now())
  const payload = { x402Version: 2, resource: required.resource, accepted: offer, payload: authorization }
  const payment = { amountMicro: String(amountMicro), proof: encode(payload) }
  await request.onSigned?.(payment)
  return resume(transport, payment, signal)
}

/** Sends the same proof again and again: the server credits it once and repeats its answer. */
export async function resume(transport: Transport, payment: SignedPayment, signal?: AbortSignal): Promise<TopUp> {
  const request = { path: pathOf(payment.amountMicro), headers: { 'payment-signature': payment.proof }, signal }
  let last: Pick<ApiAnswer, 'status' | 'body'> = { status: 0, body: {} }
  // tries that take their whole time count, too, and so do waits that a test makes short
  const until = transport.now() + PATIENCE_MS
  for (let waitedMs = 0; waitedMs < PATIENCE_MS && transport.now() < until; ) {
    const answer = await transport.once(request).catch((error: unknown) => {
      if (error instanceof UnavailableError) return undefined
      // the caller wants no more: the payment may be on its way all the same
      throw new PaymentUnsettledError(last, payment)
    })
    if (answer?.status === 200) return answer.body as TopUp
    // 202, 429, 5xx and silence: the payment may be on its way, and this proof is the only one that may be sent for it
    if (answer && answer.status !== 202 && answer.status !== 429 && answer.status < 500) return bodyOf(answer)
    if (answer) last = answer
    if (answer?.body.status === 'review_required') break
    const waitMs = Math.max((answer && retryAfterMs(answer.headers)) ?? POLL_MS, POLL_MS_LEAST)
    waitedMs += waitMs
    await transport.sleep(waitMs, signal).catch(() => {
      throw new PaymentUnsettledError(last, payment)
    })
  }
  throw new PaymentUnsettledError(last, payment)
}

function chosen(offers: readonly Offer[], { amountMicro, network, asset }: TopUpRequest): Offer {
  const offer = offers.find(
    (one) =>
      one.scheme === 'exact' &&
      /^eip155:\d+$/.test(network ?? one.network) &&
      (network ?? one.network) === one.network &&
      (asset ?? one.asset).toLowerCase() === one.asset.toLowerCase(),
  )
  if (!offer)
    throw new TypeError(`The server takes no payment by ${asset ?? 'any token'} on ${network ?? 'any network'}.`)
  if (offer.amount !== String(amountMicro))
    throw new TypeError(`The server asks for ${offer.amount} instead of ${amountMicro}: nothing was signed.`)
  return offer
}

async function signed(signer: TypedDataSigner, offer: Offer, nowMs: number) {
  const seconds = BigInt(Math.floor(nowMs / 1000))
  const nonce = crypto.getRandomValues(new Uint8Array(32))
  const message = {
    from: signer.address as `0x${string}`,
    to: offer.payTo,
    value: BigInt(offer.amount),
    validAfter: seconds - BACKDATED_SECONDS,
    validBefore: seconds + BigInt(offer.maxTimeoutSeconds),
    nonce: `0x${Array.from(nonce, (byte) => byte.toString(16).padStart(2, '0')).join('')}` as const,
  }
  const signature = await signer.signTypedData({
    domain: {
      name: offer.extra?.name ?? '',
      version: offer.extra?.version ?? '',
      chainId: Number(offer.network.split(':')[1]),
      verifyingContract: offer.asset,
    },
    types: { TransferWithAuthorization: FIELDS },
    primaryType: 'TransferWithAuthorization',
    message,
  })
  const { value, validAfter, validBefore, ...rest } = message
  return {
    signature,
    authorization: { ...rest, value: String(value), validAfter: String(validAfter), validBefore: String(validBefore) },
  }
}
