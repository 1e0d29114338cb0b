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

const malformed = (phrase: string, message: string, fix: string): Refusal => ({
  status: 400,
  type: 'invalid_request_error',
  phrase,
  message,
  fix,
})

/**
 * Every refusal the API can answer with (spec 7, decisions 0). docs/errors.md is generated from it and a
 * test holds the two together in both directions. Entries of type `invalid_request_error` with status 400
 * are answered as `error: "bad_request"` with the slug in `code`; everywhere else `error` equals `code`.
 */
export const catalogue = {
  // 400: the request itself is wrong
  invalid_json: malformed('Invalid JSON', 'The body is not valid JSON.', 'Send a JSON object with content-type application/json.'),
  invalid_body: malformed('Invalid body', 'The body must be a JSON object.', 'Send a JSON object, not an array, string or number.'),
  invalid_field: malformed('Invalid field', 'A field has the wrong type or value.', 'The message names the field and what it takes.'),
  missing_field: malformed('Missing field', 'A required field is missing.', 'The message names the field.'),
  unknown_field: malformed('Unknown field', 'The body has a field that this endpoint does not know.', 'Remove the field, or correct its spelling; the message names it.'),
  invalid_parameter: malformed('Invalid parameter', 'A path or query parameter has the wrong type or value.', 'The message names the parameter and what it takes.'),
  invalid_idempotency_key: malformed('Invalid idempotency key', 'Idempotency-Key must be 1 to 128 printable ASCII characters.', 'Use a fresh UUID for each paid intent.'),
  invalid_amount: malformed('Invalid amount', 'The amount must be a whole number of micro units.', 'Send digits only; 1 Credit = 1000000 microcredits.'),
  unsupported_media_type: {
    status: 415, type: 'invalid_request_error', phrase: 'Unsupported media type',
    message: 'The content type is not supported here.', fix: 'Send content-type: application/json.',
  },
  body_too_large: {
    status: 413, type: 'invalid_request_error', phrase: 'Body too large',
    message: 'The body is larger than this endpoint takes.', fix: 'Chat takes 8 MiB, image input 30 MiB, everything else 1 MiB.',
  },
  headers_too_large: {
    status: 431, type: 'invalid_request_error', phrase: 'Headers too large',
    message: 'The request headers are too large.', fix: 'Send fewer or shorter headers.',
  },
  uri_too_long: {
    status: 414, type: 'invalid_request_error', phrase: 'URI too long',
    message: 'The path or query is too long.', fix: 'Shorten the address.',
  },
  // 401, 403: who is calling
  unauthorized: {
    status: 401, type: 'authentication_error', phrase: 'Missing or invalid credential',
    message: 'No valid credential was sent. Send Authorization: Bearer <API key or access token>; an Agent gets one by POST /v1/auth/challenge and POST /v1/auth/verify.',
    fix: 'Check the key for typos, or sign in again. Unknown, mistyped, revoked and expired credentials are answered alike.',
  },
  invalid_challenge: {
    status: 401, type: 'authentication_error', phrase: 'Invalid challenge',
    message: 'This challenge cannot be answered: it does not exist, has expired, was answered before, or was closed after five wrong signatures. Ask for a new one by POST /v1/auth/challenge.',
    fix: 'Ask for a new challenge and answer it within 5 minutes, once. At most 5 are open for a wallet: a sixth takes the place of the oldest.',
  },
  invalid_signature: {
    status: 401, type: 'authentication_error', phrase: 'Invalid signature',
    message: 'The signature is not this wallet\'s EIP-191 signature of the challenge message. After five wrong signatures the challenge is closed.',
    fix: 'Sign the message exactly as it was received (personal_sign) with the wallet that the challenge names: 65 bytes as hex, of an ordinary wallet (EOA).',
  },
  invalid_refresh_token: {
    status: 401, type: 'authentication_error', phrase: 'Invalid refresh token',
    message: 'The refresh token is not valid: it has expired, its session was ended, or it is no refresh token of this server. Sign in again.',
    fix: 'Sign in again; API keys keep working meanwhile.',
  },
  refresh_token_reused: {
    status: 401, type: 'authentication_error', phrase: 'Refresh token used before',
    message: 'This refresh token was exchanged before, here or by another client at the same moment. Its session goes on with the newer token. If that was not you, end it by POST /v1/auth/logout with this token, and sign in again.',
    fix: 'Exchange refresh tokens one after another and store both new tokens together. After a timeout whose answer was lost, sign in again.',
  },
  owner_wallet_not_allowed: {
    status: 403, type: 'permission_error', phrase: 'Owner wallet not allowed',
    message: 'This wallet belongs to an owner account, and owner wallets cannot sign in as an Agent. Use a wallet of the Agent\'s own.',
    fix: 'Owners sign in in the browser; give the Agent a wallet of its own.',
  },
  account_banned: {
    status: 403, type: 'permission_error', phrase: 'Account banned',
    message: 'This account is banned. Contact the operator.', fix: 'Only the operator can lift a ban.',
  },
  account_deactivated: {
    status: 403, type: 'permission_error', phrase: 'Account deactivated',
    message: 'This account is deactivated. Contact the operator.', fix: 'Only the operator can reactivate an account.',
  },
  access_token_required: {
    status: 403, type: 'permission_error', phrase: 'Access token required',
    message: 'This endpoint needs an access token of a login session; an API key cannot use it.', fix: 'Sign in and send the access token.',
  },
  not_original_account: {
    status: 403, type: 'permission_error', phrase: 'Belongs to another account',
    message: 'This belongs to another account.', fix: 'Use the credential of the account that made it.',
  },
  // 402: money
  insufficient_credits: {
    status: 402, type: 'payment_required_error', phrase: 'Insufficient credits',
    message: 'The account has too few Credits for this call.', fix: 'Top up, or ask for less: a smaller max_tokens holds less.',
  },
  budget_exceeded: {
    status: 402, type: 'payment_required_error', phrase: 'Budget exceeded',
    message: 'A budget refuses this call.', fix: 'The message names the binding budget and its numbers; its owner can raise it.',
  },
  // 404, 405
  not_found: {
    status: 404, type: 'not_found_error', phrase: 'Not found',
    message: 'There is nothing at this path.', fix: 'See /openapi.json or /docs for every path.',
  },
  model_not_found: {
    status: 404, type: 'not_found_error', phrase: 'Model not found',
    message: 'There is no such model here.', fix: 'GET /v1/models lists the models.',
  },
  call_not_found: {
    status: 404, type: 'not_found_error', phrase: 'Call not found',
    message: 'There is no such call.', fix: 'GET /v1/calls lists the calls of this account.',
  },
  api_key_not_found: {
    status: 404, type: 'not_found_error', phrase: 'API key not found',
    message: 'This account has no such API key.', fix: 'GET /v1/me/api-keys lists the keys of this account with their ids.',
  },
  session_not_found: {
    status: 404, type: 'not_found_error', phrase: 'Session not found',
    message: 'This account has no such session.', fix: 'GET /v1/me/sessions lists the sessions of this account with their ids.',
  },
  method_not_allowed: {
    status: 405, type: 'method_not_allowed_error', phrase: 'Method not allowed',
    message: 'This path does not take this method.', fix: 'The Allow header lists the methods.',
  },
  request_timeout: {
    status: 408, type: 'invalid_request_error', phrase: 'Request timeout',
    message: 'The request did not arrive in time.', fix: 'Send the whole request without long pauses.',
  },
  // 409
  idempotency_conflict: {
    status: 409, type: 'conflict_error', phrase: 'Idempotency conflict',
    message: 'This Idempotency-Key was used with another body.', fix: 'Use a new key for a new request.',
  },
  request_in_progress: {
    status: 409, type: 'conflict_error', phrase: 'Request in progress',
    message: 'The first request with this Idempotency-Key is still running.', fix: 'Wait as Retry-After says, then send the same request again.',
  },
  answer_not_kept: {
    status: 409, type: 'conflict_error', phrase: 'Answer not kept',
    message: 'The first request with this Idempotency-Key was answered and charged once, but its answer was too large to be kept.',
    fix: 'Use a new key if you want the work done again.',
  },
  // 429
  rate_limited: {
    status: 429, type: 'rate_limit_error', phrase: 'Rate limited',
    message: 'Too many requests.', fix: 'Wait as Retry-After says.',
  },
  // 5xx
  upstream_failed: {
    status: 502, type: 'upstream_error', phrase: 'Provider failed',
    message: 'The provider failed before it gave an answer. Nothing was charged.', fix: 'Try again; if it lasts, choose another model.',
  },
  upstream_refused: {
    status: 400, type: 'upstream_error', phrase: 'Provider refused the request',
    message: 'The provider refused the request. Nothing was charged.', fix: 'The message carries the provider\'s reason; correct the request.',
  },
  upstream_interrupted: {
    status: 502, type: 'upstream_error', phrase: 'Provider answer broke off',
    message: 'The provider\'s answer broke off.', fix: 'The call\'s cost is settled or listed under GET /v1/credits/settlements; keep the request id.',
  },
  upstream_timeout: {
    status: 504, type: 'upstream_error', phrase: 'Provider timed out',
    message: 'The provider did not answer in time. Its usage is unknown, so the hold stays until the operator resolves it.',
    fix: 'Keep the request id; the hold is listed under GET /v1/credits/settlements.',
  },
  usage_unknown: {
    status: 409, type: 'conflict_error', phrase: 'Usage unknown',
    message: 'The cost of this call is unknown, which is not zero. Only the operator can resolve it.',
    fix: 'Give the operator the request id.',
  },
  overloaded: {
    status: 503, type: 'api_error', phrase: 'Overloaded',
    message: 'The server has more work than it may queue. Nothing was charged.', fix: 'Try again as Retry-After says.',
  },
  unavailable: {
    status: 503, type: 'api_error', phrase: 'Temporarily unavailable',
    message: 'The database cannot be reached, so nothing can be billed and no call is made.', fix: 'Try again as Retry-After says.',
  },
  shutting_down: {
    status: 503, type: 'api_error', phrase: 'Shutting down',
    message: 'This server is shutting down. Nothing was charged.', fix: 'Try again: another process will answer.',
  },
  internal_error: {
    status: 500, type: 'api_error', phrase: 'Internal error',
    message: 'Something failed on our side. Give the request id to the operator.', fix: 'The operator finds the cause in the log by the request id.',
  },
} as const satisfies Record<string, Refusal>

/** The stable slug of a refusal. */
export type ErrorCode = keyof typeof catalogue

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

  constructor(code: ErrorCode, options: FaultOptions = {}) {
    super(options.message ?? catalogue[code].message, { cause: options.cause })
    this.code = code
    this.fields = options.fields ?? {}
    this.retryAfterMs = options.retryAfterMs
    this.headers = options.headers ?? {}
  }

  get refusal(): Refusal {
    return catalogue[this.code]
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
