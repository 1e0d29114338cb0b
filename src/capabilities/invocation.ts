import type { Settled } from '../billing/calls/lifecycle.ts'
import type { Caller } from '../kernel/caller.ts'
import type { JsonObject } from '../providers/provider.ts'
import type { ServedOperation } from './catalogue.ts'

/** A call of an operation as it came in. */
export interface Invocation {
  readonly caller: Caller
  readonly requestId: string
  readonly served: ServedOperation
  /** The body, or the query. */
  readonly sent: JsonObject
  readonly inQuery: boolean
  /** Checks the credential where no money is held, which would do so. */
  readonly confirmCredential: () => Promise<void>
}

/** How a call ended, for metrics: never with its content. */
export interface InvocationReport {
  readonly capability: string
  readonly operation: string
  readonly state: Settled['state']
  readonly chargedMicro: bigint | undefined
}
