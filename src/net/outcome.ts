/** Why a request was not sent: the address itself is at fault, and another try will not help. */
export type RefusalReason = 'url' | 'address' | 'redirects'

/** Why a request that was allowed has no whole answer. */
export type FailureReason = 'dns' | 'connect' | 'tls' | 'timeout' | 'broken' | 'too_large' | 'aborted'

/**
 * How a guarded request ended:
 * `answer`   whatever the status; `body` is empty when the caller took the pieces itself;
 * `refused`  the address, or one that it redirected to, may not be asked;
 * `failed`   no whole answer came.
 * Messages name the host at most: paths and queries may carry secrets.
 */
export type FetchOutcome =
  | {
      readonly kind: 'answer'
      readonly status: number
      /** Names in lower case; of a repeated header the values joined with a comma. */
      readonly headers: Readonly<Record<string, string>>
      readonly body: Buffer
      /** Whether the body was longer than the limit and was cut there; only with `excess: 'cut'`. */
      readonly cut: boolean
    }
  | { readonly kind: 'refused'; readonly reason: RefusalReason; readonly message: string }
  | { readonly kind: 'failed'; readonly reason: FailureReason; readonly message: string }

/** Thrown inside a connection attempt to an address that may not be asked. */
export class AddressRefused extends Error {
  override name = 'AddressRefused'
}

/** Thrown while a body is read that is longer than allowed. */
export class BodyTooLarge extends Error {
  override name = 'BodyTooLarge'
}

/** The outcome for whatever a request threw. No text of the error itself is repeated. */
export function outcomeOfError(error: unknown, host: string): FetchOutcome {
  if (causes(error).some((cause) => cause instanceof AddressRefused)) {
    return { kind: 'refused', reason: 'address', message: addressMessage(host) }
  }
  const reason = reasonOf(error)
  return { kind: 'failed', reason, message: `${host}: ${words[reason]}` }
}

/** What is said of an address that may not be asked. */
export const addressMessage = (host: string): string => `${host} is not on the public internet.`

const words: Readonly<Record<FailureReason, string>> = {
  dns: 'the name is not known.',
  connect: 'no connection could be made.',
  tls: 'the connection could not be secured.',
  timeout: 'there was no whole answer in time.',
  broken: 'the connection broke off.',
  too_large: 'the answer is larger than allowed.',
  aborted: 'the request was given up.',
}

const byCode: Readonly<Record<string, FailureReason>> = {
  ENOTFOUND: 'dns',
  EAI_AGAIN: 'dns',
  EAI_NONAME: 'dns',
  ENODATA: 'dns',
  ECONNREFUSED: 'connect',
  EHOSTUNREACH: 'connect',
  ENETUNREACH: 'connect',
  EADDRNOTAVAIL: 'connect',
  EACCES: 'connect',
  UND_ERR_CONNECT_TIMEOUT: 'timeout',
  UND_ERR_HEADERS_TIMEOUT: 'timeout',
  UND_ERR_BODY_TIMEOUT: 'timeout',
  ETIMEDOUT: 'timeout',
}

function reasonOf(error: unknown): FailureReason {
  for (const cause of causes(error)) {
    if (cause instanceof BodyTooLarge) return 'too_large'
    if (cause instanceof Error && cause.name === 'TimeoutError') return 'timeout'
    if (cause instanceof Error && cause.name === 'AbortError') return 'aborted'
    const code = codeOf(cause)
    if (code === undefined) continue
    const known = byCode[code]
    if (known) return known
    if (/CERT|TLS|SSL|EPROTO|SIGNED|ISSUER/.test(code)) return 'tls'
  }
  return 'broken'
}

/** An error with its causes and, of several attempts to connect, each one. */
function causes(error: unknown, depth = 0): unknown[] {
  if (!(error instanceof Error) || depth > 4) return [error]
  const inner = [error.cause, ...(error instanceof AggregateError ? error.errors : [])]
  return [error, ...inner.filter((cause) => cause !== undefined).flatMap((cause) => causes(cause, depth + 1))]
}

const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
