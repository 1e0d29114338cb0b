import type { JsonObject } from './provider.ts'

/** One call of an operation, its input already checked and its money held. */
export interface OperationCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Which operation, as the upstream knows it. */
  readonly path: string
  readonly input: JsonObject
  /** Our request id, for the upstream's logs. */
  readonly requestId: string
  /** Who calls, and which call it is billed as; empty for a free call. */
  readonly accountId: string
  readonly callId: string
  /** Aborted when the server must end. */
  readonly signal: AbortSignal
}

/**
 * How a call ended, by what it means for money:
 * `refused`  no work was done: nothing is owed;
 * `lost`     the request was sent and its outcome cannot be known: what is owed is unknown;
 * `answer`   the whole answer, any JSON; `undefined` when it was none.
 */
export type OperationOutcome =
  | {
      readonly kind: 'refused'
      readonly status: number | undefined
      /** Fit for the caller's eyes. */
      readonly message: string
      readonly retryAfterMs?: number
    }
  | { readonly kind: 'lost'; readonly message: string }
  | { readonly kind: 'answer'; readonly data: unknown }

/** What does the work of a capability. */
export interface CapabilityProvider {
  /** Never rejects: every ending is an OperationOutcome. */
  call(call: OperationCall): Promise<OperationOutcome>
  /** Frees sockets once the calls in flight have ended: it was replaced by another. */
  retire(): Promise<void>
  /** Frees sockets now. What still runs ends as lost. */
  close(): Promise<void>
}
