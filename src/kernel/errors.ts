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
  invalid_json: malformed(
    'Invalid JSON',
    'The body is not valid JSON.',
    'Send a JSON object with content-type application/json.',
  ),
  invalid_body: malformed(
    'Invalid body',
    'The body must be a JSON object.',
    'Send a JSON object, not an array, string or number.',
  ),
  invalid_field: malformed(
    'Invalid field',
    'A field has the wrong type or value.',
    'The message names the field and what it takes.',
  ),
  missing_field: malformed('Missing field', 'A required field is missing.', 'The message names the field.'),
  unknown_field: malformed(
    'Unknown field',
    'The body has a field that this endpoint does not know.',
    'Remove the field, or correct its spelling; the message names it.',
  ),
  invalid_parameter: malformed(
    'Invalid parameter',
    'A path or query parameter has the wrong type or value.',
    'The message names the parameter and what it takes.',
  ),
  invalid_idempotency_key: malformed(
    'Invalid idempotency key',
    'Idempotency-Key must be 1 to 128 printable ASCII characters.',
    'Use a fresh UUID for each paid intent.',
  ),
  invalid_amount: malformed(
    'Invalid amount',
    'The amount must be a whole number of micro units.',
    'Send digits only; 1 Credit = 1000000 microcredits.',
  ),
  unknown_asset: malformed(
    'Unknown asset',
    'There is no such asset here.',
    'GET /v1/payments/options lists the assets.',
  ),
  amount_below_minimum: malformed(
    'Amount below minimum',
    'The amount is below the smallest that is taken.',
    'The message names the minimum; GET /v1/payments/options lists it for each asset.',
  ),
  amount_above_maximum: malformed(
    'Amount above maximum',
    'The amount is above the largest that is taken.',
    'Split it over several orders; GET /v1/payments/options lists the maximum for each asset.',
  ),
  invalid_tx_hash: malformed(
    'Invalid transaction hash',
    'A transaction hash is 0x and 64 hexadecimal digits.',
    'Copy the whole hash from the wallet or the explorer.',
  ),
  invalid_context: malformed(
    'Invalid payment context',
    'The payment context is not one of this service.',
    'Make a fresh one with POST /v1/payments/context and send its payment_context_token whole.',
  ),
  unsupported_media_type: {
    status: 415,
    type: 'invalid_request_error',
    phrase: 'Unsupported media type',
    message: 'The content type is not supported here.',
    fix: 'Send content-type: application/json.',
  },
  body_too_large: {
    status: 413,
    type: 'invalid_request_error',
    phrase: 'Body too large',
    message: 'The body is larger than this endpoint takes.',
    fix: 'Chat takes 8 MiB, image input 30 MiB, everything else 1 MiB.',
  },
  headers_too_large: {
    status: 431,
    type: 'invalid_request_error',
    phrase: 'Headers too large',
    message: 'The request headers are too large.',
    fix: 'Send fewer or shorter headers.',
  },
  uri_too_long: {
    status: 414,
    type: 'invalid_request_error',
    phrase: 'URI too long',
    message: 'The path or query is too long.',
    fix: 'Shorten the address.',
  },
  // 401, 403: who is calling
  unauthorized: {
    status: 401,
    type: 'authentication_error',
    phrase: 'Missing or invalid credential',
    message:
      'No valid credential was sent. Send Authorization: Bearer <API key or access token>; an Agent gets one by POST /v1/auth/challenge and POST /v1/auth/verify.',
    fix: 'Check the key for typos, or sign in again. Unknown, mistyped, revoked and expired credentials are answered alike.',
  },
  invalid_challenge: {
    status: 401,
    type: 'authentication_error',
    phrase: 'Invalid challenge',
    message:
      'This challenge cannot be answered: it does not exist, has expired, was answered before, or was closed after five wrong signatures. Ask for a new one by POST /v1/auth/challenge.',
    fix: 'Ask for a new challenge and answer it within 5 minutes, once. At most 5 are open for a wallet: a sixth takes the place of the oldest. Where a credential is sent too, as when a wallet is bound, the status is 400.',
  },
  invalid_signature: {
    status: 401,
    type: 'authentication_error',
    phrase: 'Invalid signature',
    message:
      "The signature is not this wallet's EIP-191 signature of the challenge message. After five wrong signatures the challenge is closed.",
    fix: 'Sign the message exactly as it was received (personal_sign) with the wallet that the challenge names: 65 bytes as hex, of an ordinary wallet (EOA). Where a credential is sent too, as when a wallet is bound, the status is 400.',
  },
  invalid_refresh_token: {
    status: 401,
    type: 'authentication_error',
    phrase: 'Invalid refresh token',
    message:
      'The refresh token is not valid: it has expired, its session was ended, or it is no refresh token of this server. Sign in again.',
    fix: 'Sign in again; API keys keep working meanwhile.',
  },
  refresh_token_reused: {
    status: 401,
    type: 'authentication_error',
    phrase: 'Refresh token used before',
    message:
      'This refresh token was exchanged before, here or by another client at the same moment. Its session goes on with the newer token. If that was not you, end it by POST /v1/auth/logout with this token, and sign in again.',
    fix: 'Exchange refresh tokens one after another and store both new tokens together. After a timeout whose answer was lost, sign in again.',
  },
  invalid_sign_in_code: {
    status: 401,
    type: 'authentication_error',
    phrase: 'Invalid sign-in code',
    message:
      'This code does not exist, was exchanged before, or is older than 60 seconds. Begin again at GET /v1/auth/oidc/{provider}/start.',
    fix: 'Exchange the code at once, and once. Begin the sign-in again otherwise.',
  },
  invalid_registration: {
    status: 401,
    type: 'authentication_error',
    phrase: 'Invalid registration',
    message:
      'This registration does not exist, was finished before, is older than 15 minutes, or was closed after ten wrong invitation codes. Begin again at GET /v1/auth/oidc/{provider}/start.',
    fix: 'Begin the sign-in again.',
  },
  invitation_invalid: {
    status: 403,
    type: 'permission_error',
    phrase: 'Invitation invalid',
    message:
      'This invitation code is unknown, expired, withdrawn or used up. Correct it, or go on without one by leaving invitation_code out.',
    fix: 'Check the code for typos, or ask the operator for another one.',
  },
  invitation_required: {
    status: 403,
    type: 'permission_error',
    phrase: 'Invitation required',
    message: 'A new account needs an invitation code here.',
    fix: 'Ask the operator for a code.',
  },
  owner_wallet_not_allowed: {
    status: 403,
    type: 'permission_error',
    phrase: 'Owner wallet not allowed',
    message:
      "This wallet belongs to an owner account, and owner wallets cannot sign in as an Agent. Use a wallet of the Agent's own.",
    fix: 'Owners sign in in the browser; give the Agent a wallet of its own.',
  },
  account_banned: {
    status: 403,
    type: 'permission_error',
    phrase: 'Account banned',
    message: 'This account is banned. Contact the operator.',
    fix: 'Only the operator can lift a ban.',
  },
  account_deactivated: {
    status: 403,
    type: 'permission_error',
    phrase: 'Account deactivated',
    message: 'This account is deactivated. Contact the operator.',
    fix: 'Only the operator can reactivate an account.',
  },
  access_token_required: {
    status: 403,
    type: 'permission_error',
    phrase: 'Access token required',
    message: 'This endpoint needs an access token of a login session; an API key cannot use it.',
    fix: 'Sign in and send the access token.',
  },
  owner_account_required: {
    status: 403,
    type: 'permission_error',
    phrase: 'Owner account required',
    message: "Only an owner account can do this; this credential is an Agent's.",
    fix: 'Sign in as the owner, in the browser.',
  },
  agent_account_required: {
    status: 403,
    type: 'permission_error',
    phrase: 'Agent account required',
    message: "Only an Agent can do this; this credential is an owner's.",
    fix: 'Use a credential of the Agent: it signs in by POST /v1/auth/challenge and POST /v1/auth/verify.',
  },
  delegation_invalid: {
    status: 403,
    type: 'permission_error',
    phrase: 'Invalid delegation',
    message:
      'This delegation does not let this Agent bind a wallet: it does not exist, is for another Agent, has expired, was used, was replaced by a newer one, or the Agent is no longer linked to the owner. The owner makes one by POST /v1/me/wallet/delegation.',
    fix: 'Ask the owner for a new delegation and use it within 10 minutes, once, with a credential of the Agent that it names.',
  },
  not_original_account: {
    status: 403,
    type: 'permission_error',
    phrase: 'Belongs to another account',
    message: 'This belongs to another account.',
    fix: 'Use the credential of the account that made it.',
  },
  wallet_not_linked: {
    status: 403,
    type: 'permission_error',
    phrase: 'Wallet not linked',
    message: 'This account has no linked wallet to pay from.',
    fix: 'Link a wallet first; only its own plain transfer can pay an order.',
  },
  wallet_changed: {
    status: 403,
    type: 'permission_error',
    phrase: 'Wallet changed',
    message: 'The wallet that this order is to be paid from is no longer linked to the account.',
    fix: 'Link the same wallet again, or make a new order with the wallet that is linked now.',
  },
  recipient_not_allowed: {
    status: 403,
    type: 'permission_error',
    phrase: 'Recipient not allowed',
    message: 'Credits can be bought for this account itself and for Agents that are linked to it.',
    fix: 'Link the Agent first, or leave recipient_account_id out.',
  },
  // 402: money
  insufficient_credits: {
    status: 402,
    type: 'payment_required_error',
    phrase: 'Insufficient credits',
    message: 'The account has too few Credits for this call.',
    fix: 'Top up, or ask for less: a smaller max_tokens holds less.',
  },
  budget_exceeded: {
    status: 402,
    type: 'payment_required_error',
    phrase: 'Budget exceeded',
    message: 'A budget refuses this call.',
    fix: 'The message names the binding budget and its numbers; its owner can raise it.',
  },
  // 404, 405
  not_found: {
    status: 404,
    type: 'not_found_error',
    phrase: 'Not found',
    message: 'There is nothing at this path.',
    fix: 'See /openapi.json or /docs for every path.',
  },
  model_not_found: {
    status: 404,
    type: 'not_found_error',
    phrase: 'Model not found',
    message: 'There is no such model here.',
    fix: 'GET /v1/models lists the models.',
  },
  call_not_found: {
    status: 404,
    type: 'not_found_error',
    phrase: 'Call not found',
    message: 'There is no such call.',
    fix: 'GET /v1/calls lists the calls of this account.',
  },
  api_key_not_found: {
    status: 404,
    type: 'not_found_error',
    phrase: 'API key not found',
    message: 'This account has no such API key.',
    fix: 'GET /v1/me/api-keys lists the keys of this account with their ids.',
  },
  identity_provider_not_found: {
    status: 404,
    type: 'not_found_error',
    phrase: 'Identity provider not found',
    message: 'There is no identity provider of this name.',
    fix: 'GET /v1/auth/oidc/providers lists the identity providers.',
  },
  session_not_found: {
    status: 404,
    type: 'not_found_error',
    phrase: 'Session not found',
    message: 'This account has no such session.',
    fix: 'GET /v1/me/sessions lists the sessions of this account with their ids.',
  },
  agent_not_linked: {
    status: 404,
    type: 'not_found_error',
    phrase: 'Agent not linked',
    message: 'No such Agent is linked to this account.',
    fix: 'GET /v1/me/agents lists the Agents of this account; POST /v1/me/agents links one.',
  },
  owner_link_not_found: {
    status: 404,
    type: 'not_found_error',
    phrase: 'No owner',
    message: 'This Agent is linked to no owner.',
    fix: 'There is nothing to leave; GET /v1/me names the owner while there is one.',
  },
  wallet_not_found: {
    status: 404,
    type: 'not_found_error',
    phrase: 'Wallet not found',
    message: 'This account has no such wallet.',
    fix: 'GET /v1/me/wallets lists the wallets of this account.',
  },
  order_not_found: {
    status: 404,
    type: 'not_found_error',
    phrase: 'Order not found',
    message: 'There is no such order.',
    fix: 'GET /v1/payments/orders lists the orders of this account.',
  },
  attempt_not_found: {
    status: 404,
    type: 'not_found_error',
    phrase: 'Attempt not found',
    message: 'This order has no such send attempt.',
    fix: 'GET the order: payment_attempt_id names its current attempt.',
  },
  method_not_allowed: {
    status: 405,
    type: 'method_not_allowed_error',
    phrase: 'Method not allowed',
    message: 'This path does not take this method.',
    fix: 'The Allow header lists the methods.',
  },
  request_timeout: {
    status: 408,
    type: 'invalid_request_error',
    phrase: 'Request timeout',
    message: 'The request did not arrive in time.',
    fix: 'Send the whole request without long pauses.',
  },
  // 409
  idempotency_conflict: {
    status: 409,
    type: 'conflict_error',
    phrase: 'Idempotency conflict',
    message: 'This Idempotency-Key was used with another body.',
    fix: 'Use a new key for a new request.',
  },
  request_in_progress: {
    status: 409,
    type: 'conflict_error',
    phrase: 'Request in progress',
    message: 'The first request with this Idempotency-Key is still running.',
    fix: 'Wait as Retry-After says, then send the same request again.',
  },
  answer_not_kept: {
    status: 409,
    type: 'conflict_error',
    phrase: 'Answer not kept',
    message:
      'The first request with this Idempotency-Key was answered and charged once, but its answer was too large to be kept.',
    fix: 'Use a new key if you want the work done again.',
  },
  agent_already_linked: {
    status: 409,
    type: 'conflict_error',
    phrase: 'Agent already linked',
    message: 'This Agent is linked to an owner already; it has at most one.',
    fix: 'The Agent can leave its owner by DELETE /v1/me/owner-link, or its owner unlinks it; then link it again.',
  },
  wallet_belongs_to_owner: {
    status: 409,
    type: 'conflict_error',
    phrase: 'Wallet belongs to an owner',
    message: 'This wallet belongs to an owner account, and owners cannot be Agents.',
    fix: 'Give the Agent a wallet of its own.',
  },
  wallet_already_bound: {
    status: 409,
    type: 'conflict_error',
    phrase: 'Wallet already bound',
    message: 'This wallet belongs to an account already; a wallet belongs to one account.',
    fix: 'Use another wallet, or remove it from the account that has it: DELETE /v1/me/wallets/{address}.',
  },
  wallet_in_use: {
    status: 409,
    type: 'conflict_error',
    phrase: 'Wallet in use',
    message: 'An order that this wallet pays is still open.',
    fix: 'GET /v1/payments/orders shows it. Remove the wallet when the order is completed or has expired.',
  },
  attempt_active: {
    status: 409,
    type: 'conflict_error',
    phrase: 'Send attempt active',
    message:
      'A send attempt of this order is already active. Do not pay again: GET the order to see what becomes of it.',
    fix: 'Follow the original order. Reject the attempt only if the wallet said that nothing was sent.',
  },
  attempt_not_current: {
    status: 409,
    type: 'conflict_error',
    phrase: 'Not the current attempt',
    message: 'This is not the current send attempt of the order.',
    fix: 'GET the order: payment_attempt_id names its current attempt.',
  },
  attempt_has_payment: {
    status: 409,
    type: 'conflict_error',
    phrase: 'Attempt has a payment',
    message: 'A transaction of this attempt is known, so it cannot be rejected.',
    fix: 'GET the order: it is completed when the transaction is confirmed.',
  },
  order_completed: {
    status: 409,
    type: 'conflict_error',
    phrase: 'Order completed',
    message: 'This order is completed: its Credits were given. Do not pay it again.',
    fix: 'Make a new order to buy more.',
  },
  order_expired: {
    status: 409,
    type: 'conflict_error',
    phrase: 'Order expired',
    message: 'This order expired before a send attempt was reserved.',
    fix: 'POST .../resume revives it for 30 minutes while it is under 24 hours old; else make a new order.',
  },
  order_not_in_review: {
    status: 409,
    type: 'conflict_error',
    phrase: 'Order not in review',
    message: 'This order is not in review, so there is nothing to decide.',
    fix: 'farebox review list shows what waits for a decision.',
  },
  payment_recorded: {
    status: 409,
    type: 'conflict_error',
    phrase: 'Payment recorded',
    message: 'A transaction of this order is recorded, so it cannot be resumed.',
    fix: 'GET the order to see what became of the transaction; make a new order to pay again.',
  },
  resume_limit: {
    status: 409,
    type: 'conflict_error',
    phrase: 'Order too old to resume',
    message: 'An order can be resumed for 24 hours after it was made.',
    fix: "Make a new order: it has today's rate.",
  },
  review_unresolved: {
    status: 409,
    type: 'conflict_error',
    phrase: 'Review unresolved',
    message:
      'A payment of this account is in review. Nothing more can be paid until it is resolved: contact support with the order id.',
    fix: 'Contact the operator with the order id; the review names its reason.',
  },
  payer_is_contract: {
    status: 409,
    type: 'conflict_error',
    phrase: 'Payer is a contract',
    message: 'The linked wallet is a contract. Only a plain account can pay, by a direct transfer.',
    fix: 'Link an ordinary wallet and pay from it.',
  },
  tx_already_used: {
    status: 409,
    type: 'conflict_error',
    phrase: 'Transaction already used',
    message: 'This transaction paid for another purchase.',
    fix: 'Register the hash of the transaction that paid for this order.',
  },
  too_many_hashes: {
    status: 409,
    type: 'conflict_error',
    phrase: 'Too many hashes',
    message: 'An order takes 5 transaction hashes.',
    fix: 'No hash is needed: a payment from the linked wallet is found by itself.',
  },
  context_expired: {
    status: 409,
    type: 'conflict_error',
    phrase: 'Payment context expired',
    message: 'The payment context is older than 15 minutes.',
    fix: 'Make a fresh one with POST /v1/payments/context.',
  },
  context_mismatch: {
    status: 409,
    type: 'conflict_error',
    phrase: 'Payment context does not match',
    message: 'The payment context was made for another payer or another amount.',
    fix: 'Send the amount of the context, from the account that made it, or make a fresh context.',
  },
  // 429
  rate_limited: {
    status: 429,
    type: 'rate_limit_error',
    phrase: 'Rate limited',
    message: 'Too many requests.',
    fix: 'Wait as Retry-After says.',
  },
  too_many_open_orders: {
    status: 429,
    type: 'rate_limit_error',
    phrase: 'Too many open orders',
    message: 'This account has 20 orders that wait for payment.',
    fix: 'Pay one of them, or wait until they expire.',
  },
  // 5xx
  upstream_failed: {
    status: 502,
    type: 'upstream_error',
    phrase: 'Provider failed',
    message: 'The provider failed before it gave an answer. Nothing was charged.',
    fix: 'Try again; if it lasts, choose another model.',
  },
  upstream_refused: {
    status: 400,
    type: 'upstream_error',
    phrase: 'Provider refused the request',
    message: 'The provider refused the request. Nothing was charged.',
    fix: "The message carries the provider's reason; correct the request.",
  },
  upstream_interrupted: {
    status: 502,
    type: 'upstream_error',
    phrase: 'Provider answer broke off',
    message: "The provider's answer broke off.",
    fix: "The call's cost is settled or listed under GET /v1/credits/settlements; keep the request id.",
  },
  upstream_timeout: {
    status: 504,
    type: 'upstream_error',
    phrase: 'Provider timed out',
    message:
      'The provider did not answer in time. Its usage is unknown, so the hold stays until the operator resolves it.',
    fix: 'Keep the request id; the hold is listed under GET /v1/credits/settlements.',
  },
  usage_unknown: {
    status: 409,
    type: 'conflict_error',
    phrase: 'Usage unknown',
    message: 'The cost of this call is unknown, which is not zero. Only the operator can resolve it.',
    fix: 'Give the operator the request id.',
  },
  overloaded: {
    status: 503,
    type: 'api_error',
    phrase: 'Overloaded',
    message: 'The server has more work than it may queue. Nothing was charged.',
    fix: 'Try again as Retry-After says.',
  },
  asset_unavailable: {
    status: 503,
    type: 'api_error',
    phrase: 'Asset unavailable',
    message: 'This asset cannot be paid with right now: it is paused, or its network cannot be reached.',
    fix: 'Try again later, or choose another asset of GET /v1/payments/options. Do not pay without an order.',
  },
  unavailable: {
    status: 503,
    type: 'api_error',
    phrase: 'Temporarily unavailable',
    message: 'The database cannot be reached, so nothing can be billed and no call is made.',
    fix: 'Try again as Retry-After says.',
  },
  shutting_down: {
    status: 503,
    type: 'api_error',
    phrase: 'Shutting down',
    message: 'This server is shutting down. Nothing was charged.',
    fix: 'Try again: another process will answer.',
  },
  internal_error: {
    status: 500,
    type: 'api_error',
    phrase: 'Internal error',
    message: 'Something failed on our side. Give the request id to the operator.',
    fix: 'The operator finds the cause in the log by the request id.',
  },
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
