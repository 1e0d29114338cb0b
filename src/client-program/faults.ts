import {
  AuthenticationError,
  ConflictError,
  FareboxError,
  InsufficientCreditsError,
  PaymentUnsettledError,
  PermissionError,
  RateLimitError,
  UnavailableError,
} from '../../sdk/src/index.ts'
import { type ExitCode, exitCodes, ProgramFault } from '../terminal/exit-codes.ts'

/** Refusals whose money or work waits for a person, whatever their status is. */
const REVIEW = new Set(['usage_unknown', 'review_unresolved', 'review_required'])

/** Where the server speaks of its endpoints, what to type instead. */
const HELPS: Readonly<Record<string, string>> = {
  model_not_found: '`farebox models` lists them.',
  call_not_found: '`farebox calls` lists yours.',
  api_key_not_found: '`farebox keys` lists yours.',
  order_not_found: '`farebox orders` lists yours.',
  agent_not_linked: '`farebox agents` lists yours.',
  settlement_not_found: '`farebox settlements --state all` lists yours.',
  owner_account_required: 'Log in as the owner: `farebox login`.',
  agent_account_required: 'Log in as the Agent: `farebox login --private-key-file <path>`.',
}

/** How a login by code ends that no owner approved. */
const NOT_APPROVED = new Set(['access_denied', 'expired_token'])

/** An error of the SDK as the program's end: what happened, what to do next, and the request id. Others are given back. */
export function faultOf(error: unknown, server: string): unknown {
  if (!(error instanceof FareboxError)) return error
  const said = [messageOf(error, server), nextStep(error, server), reference(error)].filter((line) => line !== '')
  return new ProgramFault(exitCodeOf(error), said.join('\n'), { cause: error })
}

function exitCodeOf(error: FareboxError): ExitCode {
  if (REVIEW.has(error.code)) return exitCodes.review
  if (error instanceof PaymentUnsettledError)
    return error.paymentStatus === 'review_required' ? exitCodes.review : exitCodes.unavailable
  if (error instanceof AuthenticationError || error instanceof PermissionError || NOT_APPROVED.has(error.code))
    return exitCodes.auth
  if (error instanceof InsufficientCreditsError) return exitCodes.credits
  if (error instanceof ConflictError) return exitCodes.conflict
  if (error instanceof UnavailableError || error instanceof RateLimitError) return exitCodes.unavailable
  return error.status === 400 ? exitCodes.usage : exitCodes.failed
}

/** The server's own words, without what would steer the terminal. */
function messageOf(error: FareboxError, server: string): string {
  // the SDK speaks of its own methods here
  if (error instanceof AuthenticationError) return `${server} does not accept this login, or not any more.`
  if (error.code === 'no_answer') return `${server} does not answer${causeOf(error)}.`
  return error.message.replace(/[\p{Cc}\p{Cf}]/gu, ' ')
}

function nextStep(error: FareboxError, server: string): string {
  if (error instanceof PaymentUnsettledError)
    return 'The signed payment is kept: run `farebox topup --resume`. Do not pay again.'
  if (error instanceof AuthenticationError) return 'Run `farebox login` again, or correct FAREBOX_API_KEY.'
  if (error.code === 'access_token_required')
    return 'An API key may not do this: run `farebox login` as an owner, or with --private-key-file <path> as an Agent.'
  if (NOT_APPROVED.has(error.code)) return 'Run `farebox login` again to be asked anew.'
  if (error instanceof InsufficientCreditsError) return shortfall(error)
  if (REVIEW.has(error.code)) return 'The operator decides: give them the request id. Do not repeat it with a new key.'
  if (error instanceof RateLimitError)
    return `Try again${error.retryAfterMs === undefined ? ' later' : ` in ${Math.ceil(error.retryAfterMs / 1000)} s`}.`
  if (error.code === 'no_answer')
    return 'Start the server, or correct FAREBOX_BASE_URL. Running the same command again is safe, except `chat` and `image`: look at `farebox calls` first.'
  if (error instanceof UnavailableError) return 'Try again in a moment.'
  const command = HELPS[error.code]
  if (command !== undefined) return command
  return `What it means: ${server}/errors/${encodeURIComponent(error.code)}`
}

/** The server's message has the figures. */
const shortfall = ({ topupUrl }: InsufficientCreditsError): string =>
  `Run \`farebox topup\`${topupUrl === '' ? '' : ` or open ${topupUrl}`}; \`farebox balance\` shows which limit binds.`

const reference = ({ code, requestId }: FareboxError): string =>
  requestId === '' ? '' : `(${code}, request ${requestId})`

function causeOf({ cause }: FareboxError): string {
  const inner = (cause as { cause?: unknown } | undefined)?.cause ?? cause
  const code = (inner as { code?: unknown } | undefined)?.code
  return typeof code === 'string' ? ` (${code})` : ''
}
