import { getAddress } from 'viem/utils'
import type { Clock } from '../../../kernel/clock.ts'
import { MAX_TIMEOUT_SECONDS, NotSent, type Payment, type Settler, type TopUpSettings } from '../model.ts'
import { networkName } from '../offer.ts'

/** What a remote facilitator is reached by. */
export interface FacilitatorDeps {
  readonly clock: Clock
  readonly settings: TopUpSettings
  /** Without a trailing slash. */
  readonly url: string
  readonly apiKey: string | undefined
  /** After which it is hung up on. */
  readonly limits: { readonly verifyMs: number; readonly settleMs: number }
}

/** A payment that is still not in the chain is handed over again after this; one that was refused is offered again sooner. */
const AGAIN_AFTER_MS = { handedOver: 10_000, refused: 1_000 } as const
const ANSWER_MAX = 64 * 1024
/** Payments remembered; above it the oldest is forgotten, which costs one more request. */
const REMEMBERED_MAX = 10_000

/**
 * Somebody else's relayer. It is asked to verify first, so that one that is down, or answers nonsense, is noticed while
 * nothing can have been sent. What it says about the outcome is not looked at: the chain is.
 */
export function openFacilitator(deps: FacilitatorDeps): Settler<undefined> {
  const tried = new Map<bigint, { readonly atMs: number; readonly refusal: NotSent | undefined }>()
  const remember = (id: bigint, refusal: NotSent | undefined): void => {
    tried.delete(id)
    tried.set(id, { atMs: deps.clock.monotonicMs(), refusal })
    const [oldest] = tried.keys()
    if (tried.size > REMEMBERED_MAX && oldest !== undefined) tried.delete(oldest)
  }
  return {
    kind: 'facilitator',
    prepare: async () => undefined,
    store: async () => undefined,
    async push(payment) {
      const before = tried.get(payment.id)
      const againAfterMs = AGAIN_AFTER_MS[before?.refusal ? 'refused' : 'handedOver']
      if (before && deps.clock.monotonicMs() - before.atMs < againAfterMs) {
        if (before.refusal) throw before.refusal
        return false
      }
      const body = JSON.stringify(requestOf(deps.settings, payment))
      const verified = await ask(deps, 'verify', body, deps.limits.verifyMs)
      if (verified?.isValid !== true) {
        const does = verified === undefined ? 'does not answer' : 'refuses this one'
        const refusal = new NotSent(`The facilitator that settles payments ${does}.`)
        remember(payment.id, refusal)
        throw refusal
      }
      remember(payment.id, undefined)
      // its word is not looked at, so nobody waits for it: one that hangs keeps no other payment waiting
      void ask(deps, 'settle', body, deps.limits.settleMs)
      return true
    },
  }
}

/** The answer as an object; undefined when there is none, or none that is JSON with a good status. Never rejects. */
async function ask(
  { url, apiKey }: FacilitatorDeps,
  what: 'verify' | 'settle',
  body: string,
  timeoutMs: number,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  try {
    const response = await fetch(`${url}/${what}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
      },
      body,
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs),
    })
    const parts: Uint8Array[] = []
    let bytes = 0
    for await (const part of response.body ?? []) {
      bytes += part.byteLength
      if (bytes > ANSWER_MAX) return undefined
      parts.push(part)
    }
    const answer: unknown = JSON.parse(Buffer.concat(parts).toString('utf8'))
    return response.ok && typeof answer === 'object' && answer !== null
      ? (answer as Readonly<Record<string, unknown>>)
      : undefined
  } catch {
    return undefined
  }
}

function requestOf(settings: TopUpSettings, payment: Payment): object {
  const { asset } = settings
  const version = payment.x402_version === 1 ? 1 : 2
  const shared = {
    scheme: 'exact',
    network: networkName(settings, version),
    asset: getAddress(payment.token_address),
    payTo: getAddress(payment.recipient_address),
    maxTimeoutSeconds: MAX_TIMEOUT_SECONDS,
    extra: { ...asset.signingDomain },
  }
  const amount = String(payment.amount_micro)
  const payload = {
    signature: payment.signature,
    authorization: {
      from: getAddress(payment.payer),
      to: getAddress(payment.recipient_address),
      value: amount,
      validAfter: String(payment.valid_after),
      validBefore: String(payment.valid_before),
      nonce: payment.nonce,
    },
  }
  const requirements =
    version === 2
      ? { ...shared, amount }
      : { ...shared, maxAmountRequired: amount, resource: '', description: '', mimeType: 'application/json' }
  return {
    x402Version: version,
    paymentPayload:
      version === 2
        ? { x402Version: 2, accepted: requirements, payload }
        : { x402Version: 1, scheme: 'exact', network: shared.network, payload },
    paymentRequirements: requirements,
  }
}
