/** The families of refusals (decisions 0), in the words OpenAI's clients know. */
export type ErrorType =
  | 'invalid_request_error'
  | 'authentication_error'
  | 'payment_required_error'
  | 'permission_error'
  | 'not_found_error'
  | 'method_not_allowed_error'
  | 'conflict_error'
  | 'rate_limit_error'
  | 'upstream_error'
  | 'api_error'

/** What the API says when it refuses: the status, the family, the short phrase of the status line, and what to do about it. */
export interface Refusal {
  readonly status: number
  readonly type: ErrorType
  /** The HTTP reason phrase: all that some SDKs show. */
  readonly phrase: string
  /** The default message: what happened and what to do next. A Fault usually replaces it by one with numbers. */
  readonly message: string
  /** Cause and fix for the page /errors/<code>. */
  readonly fix: string
}

/** A refusal of a request that is wrong in itself: 400 `invalid_request_error`. */
export const malformed = (phrase: string, message: string, fix: string): Refusal => ({
  status: 400,
  type: 'invalid_request_error',
  phrase,
  message,
  fix,
})
