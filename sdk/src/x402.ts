import { errorOf, FareboxError, UnavailableError } from './errors.ts'
import { bodyOf, retryAfterMs, type Transport } from './transport.ts'

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

/** What the server says of a payment (spec 2.6). */
export interface TopUp {
  readonly status: string
  readonly account_id: number
  readonly wallet_address: string
  readonly amount_added: number
  readonly message: string
  readonly payment_id?: number
}

/** What to pay, and the most that may be asked for it. */
export interface TopUpRequest {
  /** In micro units of the asset, which the server names. */
  readonly amountMicro: bigint
  /** Refused before anything is signed when the server asks for more; the amount itself unless given. */
  readonly maxAmountMicro?: bigint
  /** Such as `eip155:8453`; the first offer unless given. */
  readonly network?: string
  readonly signal?: AbortSignal
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
const encode = (value: unknown): string => btoa(String.fromCharCode(...new TextEncoder().encode(JSON.stringify(value))))
const decode = <T>(text: string): T =>
  JSON.parse(new TextDecoder().decode(Uint8Array.from(atob(text), (character) => character.charCodeAt(0)))) as T

/**
 * Pays by x402: asks what it costs, signs one authorization, and sends that same proof until the server says
 * `credited`. The proof is signed once, so that however often it is sent, the payment is one. Rejects with a
 * FareboxError; after an UnavailableError, call `again` of it with the same proof rather than paying anew.
 */
export async function topUp(transport: Transport, signer: TypedDataSigner, request: TopUpRequest): Promise<TopUp> {
  const path = `/v1/payments/topup?amount_micro=${request.amountMicro}`
  const asked = await transport.raw({ path, signal: request.signal })
  const header = asked.headers.get('payment-required')
  if (asked.status !== 402 || header === null) throw errorOf(asked.status, await bodyOf(asked), retryAfterMs(asked))
  const required = decode<{ accepts: Offer[]; resource?: unknown }>(header)
  const offer = chosen(required.accepts, request)
  const authorization = await signed(signer, offer)
  const payload = { x402Version: 2, resource: required.resource, accepted: offer, payload: authorization }
  return send(transport, path, encode(payload), request.signal)
}

function chosen(offers: readonly Offer[], request: TopUpRequest): Offer {
  const offer = offers.find(({ scheme, network }) => scheme === 'exact' && (request.network ?? network) === network)
  if (!offer) throw new TypeError(`The server takes no payment on ${request.network ?? 'any network'} by this scheme.`)
  const most = request.maxAmountMicro ?? request.amountMicro
  if (BigInt(offer.amount) > most) throw new TypeError(`The server asks for ${offer.amount}, more than ${most}.`)
  return offer
}

async function signed(signer: TypedDataSigner, offer: Offer) {
  const seconds = BigInt(Math.floor(Date.now() / 1000))
  const nonce = crypto.getRandomValues(new Uint8Array(32))
  const message = {
    from: signer.address as `0x${string}`,
    to: offer.payTo,
    value: BigInt(offer.amount),
    // a clock that is a little ahead makes no proof of the future
    validAfter: seconds - 600n,
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

/** The same proof again and again: the server credits it once and repeats its answer. */
async function send(
  transport: Transport,
  path: string,
  proof: string,
  signal: AbortSignal | undefined,
): Promise<TopUp> {
  for (;;) {
    signal?.throwIfAborted()
    let response: Response
    try {
      response = await transport.raw({ path, headers: { 'payment-signature': proof }, signal })
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error
      await transport.sleep(POLL_MS)
      continue
    }
    const body = await bodyOf(response)
    if (response.status === 200) return body as unknown as TopUp
    const wait = retryAfterMs(response)
    // 202 and 5xx: a payment may be on its way, and this proof is the only one that may be sent for it
    if (response.status !== 202 && response.status < 500 && response.status !== 429)
      throw errorOf(response.status, body, wait)
    if (body.status === 'review_required') throw new FareboxError(response.status, body)
    await transport.sleep(wait ?? POLL_MS)
  }
}
