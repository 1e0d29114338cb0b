/** A refusal of the server, with everything that its flat body says. Wrong arguments of yours are TypeErrors, never this. */
export class FareboxError extends Error {
  override name = 'FareboxError'
  /** HTTP status; 0 when no answer came. */
  readonly status: number
  /** The stable slug, such as `insufficient_credits`: see /errors of the server. `no_answer` when none came. */
  readonly code: string
  /** Name it when you ask the operator. "" when no answer came. */
  readonly requestId: string
  /** How long the server asks to wait before the same request again. */
  readonly retryAfterMs: number | undefined
  /** The whole body: numbers of a refusal, say. */
  readonly body: Readonly<Record<string, unknown>>

  constructor(status: number, body: Readonly<Record<string, unknown>>, retryAfterMs?: number, options?: ErrorOptions) {
    super(typeof body.message === 'string' ? body.message : 'The server did not answer.', options)
    this.status = status
    this.code = typeof body.code === 'string' ? body.code : 'no_answer'
    this.requestId = typeof body.request_id === 'string' ? body.request_id : ''
    this.retryAfterMs = retryAfterMs
    this.body = body
  }
}

/** 401: the credential is missing, wrong, revoked or expired. Sign in again. */
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
    return typeof this.body.topup_url === 'string' ? this.body.topup_url : ''
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

/** 5xx, or no answer at all. Whether a request without an idempotency key was done is then unknown. */
export class UnavailableError extends FareboxError {
  override name = 'UnavailableError'
}

const amountOf = (value: unknown): bigint | undefined =>
  typeof value === 'string' && /^\d+$/.test(value) ? BigInt(value) : undefined

/** The error of an answer, by its status. */
export function errorOf(status: number, body: Readonly<Record<string, unknown>>, retryAfterMs?: number): FareboxError {
  if (status === 401) return new AuthenticationError(status, body, retryAfterMs)
  if (status === 402) return new InsufficientCreditsError(status, body, retryAfterMs)
  if (status === 403) return new PermissionError(status, body, retryAfterMs)
  if (status === 409) return new ConflictError(status, body, retryAfterMs)
  if (status === 429) return new RateLimitError(status, body, retryAfterMs)
  if (status >= 500) return new UnavailableError(status, body, retryAfterMs)
  return new FareboxError(status, body, retryAfterMs)
}
