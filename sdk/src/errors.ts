/** The code of an answer that is not the server's own, such as a proxy's. */
export const UNKNOWN_ANSWER = 'unknown_answer'

/** A refusal of the server, with everything that its flat body says. Wrong arguments of yours are TypeErrors, never this. */
export class FareboxError extends Error {
  override name = 'FareboxError'
  /** HTTP status; 0 when no answer came, and for an error inside a stream. */
  readonly status: number
  /** The stable slug, such as `insufficient_credits`: see /errors of the server. `no_answer` when none came. */
  readonly code: string
  /** Name it when you ask the operator. "" when no answer came. */
  readonly requestId: string
  /** How long the server asks to wait before the same request again. */
  readonly retryAfterMs: number | undefined
  /** The whole body: the numbers of a refusal, say. */
  readonly body: Readonly<Record<string, unknown>>

  constructor(status: number, body: Readonly<Record<string, unknown>>, retryAfterMs?: number, options?: ErrorOptions) {
    super(typeof body.message === 'string' ? body.message : silence(status), options)
    this.status = status
    this.code = textOf(body.code) || (status === 0 ? 'no_answer' : UNKNOWN_ANSWER)
    this.requestId = textOf(body.request_id)
    this.retryAfterMs = retryAfterMs
    this.body = body
  }
}

/** 401: the credential is missing, wrong, revoked or expired. Sign in again, or use another key. */
export class AuthenticationError extends FareboxError {
  override name = 'AuthenticationError'
}

/** 402: Credits or a budget do not cover it. */
export class InsufficientCreditsError extends FareboxError {
  override name = 'InsufficientCreditsError'
  /** What there is to spend, in microcredits; undefined where the server did not say. */
  get availableMicro(): bigint | undefined {
    return amountOf(this.body.available_micro)
  }
  /** What is missing, in microcredits; undefined where the server did not say. */
  get shortfallMicro(): bigint | undefined {
    return amountOf(this.body.shortfall_micro)
  }
  /** Where a person can buy Credits; "" where there is no page. */
  get topupUrl(): string {
    return textOf(this.body.topup_url)
  }
}

/** 402 to a signed x402 payment: no money moved by this proof, and none can. Paying again is safe once `reason` is mended. */
export class PaymentRejectedError extends FareboxError {
  override name = 'PaymentRejectedError'
  /** Such as `insufficient_funds`. */
  get reason(): string {
    return textOf(this.body.reason)
  }
}

/** 403: not yours, or the account is banned. */
export class PermissionError extends FareboxError {
  override name = 'PermissionError'
}

/** 409: something stands in the way, such as an attempt that is already active. Never retried by itself. */
export class ConflictError extends FareboxError {
  override name = 'ConflictError'
}

/** 429: wait `retryAfterMs`. */
export class RateLimitError extends FareboxError {
  override name = 'RateLimitError'
}

/** 5xx, or no answer at all. Whether a write was done is then unknown: repeat it with the same idempotency key. */
export class UnavailableError extends FareboxError {
  override name = 'UnavailableError'
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')
const amountOf = (value: unknown): bigint | undefined =>
  typeof value === 'string' && /^\d+$/.test(value) ? BigInt(value) : undefined
const silence = (status: number): string =>
  status === 0 ? 'The server did not answer.' : `The server answered ${status} without a reason.`

const classes: Readonly<Record<number, typeof FareboxError>> = {
  401: AuthenticationError,
  402: InsufficientCreditsError,
  403: PermissionError,
  409: ConflictError,
  429: RateLimitError,
}

/** The error of an answer, by its status. */
export function errorOf(status: number, body: Readonly<Record<string, unknown>>, retryAfterMs?: number): FareboxError {
  if (body.code === 'payment_rejected') return new PaymentRejectedError(status, body, retryAfterMs)
  const Class = status === 0 || status >= 500 ? UnavailableError : (classes[status] ?? FareboxError)
  return new Class(status, body, retryAfterMs)
}
