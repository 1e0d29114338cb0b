import { accessRefusals } from './refusals/access.ts'
import { conflicts } from './refusals/conflicts.ts'
import { fundsRefusals } from './refusals/funds.ts'
import { loadRefusals } from './refusals/load.ts'
import { malformedRequests } from './refusals/malformed.ts'
import { missingThings } from './refusals/missing.ts'
import type { Refusal } from './refusals/refusal.ts'
import { serviceFailures } from './refusals/service.ts'

export type { Refusal } from './refusals/refusal.ts'

/**
 * Every refusal the API can answer with (spec 7, decisions 0). docs/errors.md is generated from it and a
 * test holds the two together in both directions. Entries of type `invalid_request_error` with status 400
 * are answered as `error: "bad_request"` with the slug in `code`; everywhere else `error` equals `code`.
 */
export const catalogue = {
  ...malformedRequests,
  ...accessRefusals,
  ...fundsRefusals,
  ...missingThings,
  ...conflicts,
  ...loadRefusals,
  ...serviceFailures,
} as const satisfies Record<string, Refusal>

/** The stable slug of a refusal. */
export type ErrorCode = keyof typeof catalogue

/**
 * A refusal as it is answered here. To a caller whose credential was accepted, whatever else it proved wrongly is
 * a wrong request (400): a 401 would tell its client to sign in again (spec 5.6).
 */
export function refusalOf(code: ErrorCode, { signedIn }: { signedIn: boolean }): Refusal {
  const refusal: Refusal = catalogue[code]
  const wrongProof = signedIn && refusal.type === 'authentication_error' && code !== 'unauthorized'
  return wrongProof ? { ...refusal, status: 400, type: 'invalid_request_error' } : refusal
}

/** What a Fault may carry besides its code. */
export interface FaultOptions {
  /** Replaces the catalogue's message. Must be fit for the caller's eyes: numbers yes, secrets and prompts never. */
  message?: string
  /** Extra members of the error body (402 numbers, the field that is wrong). Values follow decisions 0 and 4. */
  fields?: Readonly<Record<string, unknown>>
  /** Sent as Retry-After (seconds, rounded up) and retry-after-ms. */
  retryAfterMs?: number
  /** Extra response headers. */
  headers?: Readonly<Record<string, string>>
  /** True where the caller's credential was accepted and a proof inside the request was not: see `refusalOf`. */
  signedIn?: boolean
  /** The private cause: logged, never answered. */
  cause?: unknown
}

/** A refusal on its way to the caller. Throw it anywhere; the HTTP floor turns it into the documented body. */
export class Fault extends Error {
  override name = 'Fault'
  readonly code: ErrorCode
  readonly fields: Readonly<Record<string, unknown>>
  readonly retryAfterMs: number | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly refusal: Refusal

  constructor(code: ErrorCode, options: FaultOptions = {}) {
    super(options.message ?? catalogue[code].message, { cause: options.cause })
    this.code = code
    this.fields = options.fields ?? {}
    this.retryAfterMs = options.retryAfterMs
    this.headers = options.headers ?? {}
    this.refusal = refusalOf(code, { signedIn: options.signedIn ?? false })
  }
}

/** The flat body of every error, both shapes of spec 7 in one, plus the fault's own members. */
export function errorBody(fault: Fault, requestId: string): Record<string, unknown> {
  const { status, type } = fault.refusal
  return {
    ...fault.fields,
    error: status === 400 && type === 'invalid_request_error' ? 'bad_request' : fault.code,
    message: fault.message,
    type,
    code: fault.code,
    request_id: requestId,
  }
}
