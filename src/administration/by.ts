import type { Operator } from '../identity/audit-log/service.ts'

/** Who decides, and why: both are in the audit log, with the request where there is one. */
export interface By {
  readonly operator: Operator
  readonly reason: string
  readonly requestId?: string
}
