import type { Refusal } from './refusal.ts'

/** 502 to 504, 500: a provider or this server failed. */
export const serviceFailures = {
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
  upstream_answer_invalid: {
    status: 502,
    type: 'upstream_error',
    phrase: 'Provider answer not as declared',
    message: 'The service behind this operation answered otherwise than its output_schema says. Nothing was charged.',
    fix: 'Try again; if it lasts, give the operator the request id.',
  },
  upstream_interrupted: {
    status: 502,
    type: 'upstream_error',
    phrase: 'Provider answer broke off',
    message: "The provider's answer broke off.",
    fix: 'GET /v1/calls shows what the call cost, or that its usage is unknown; keep the request id.',
  },
  upstream_timeout: {
    status: 504,
    type: 'upstream_error',
    phrase: 'Provider timed out',
    message:
      'The provider did not answer in time. Its usage is unknown, so the hold stays until the operator resolves it.',
    fix: 'Keep the request id; GET /v1/calls?status=usage_unknown lists the call until it is resolved.',
  },
  task_running: {
    status: 504,
    type: 'upstream_error',
    phrase: 'Task still running',
    message: 'The task is not finished yet and goes on.',
    fix: 'Poll the poll_url of the error for its result; do not send the request again.',
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
  topup_unavailable: {
    status: 503,
    type: 'api_error',
    phrase: 'Top-ups unavailable',
    message: 'Top-ups by x402 are not possible right now. Nothing was sent.',
    fix: 'Send the same proof again as Retry-After says: it stays good until its time is over.',
  },
  rate_unavailable: {
    status: 503,
    type: 'api_error',
    phrase: 'Rate unavailable',
    message: 'There is no fresh rate for the native token right now, so nothing can be quoted.',
    fix: 'Try again as Retry-After says, or pay with a stablecoin: GET /v1/payments/options.',
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
