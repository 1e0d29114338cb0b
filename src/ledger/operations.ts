import type { Microcredits } from '../kernel/money.ts'

/** What may spend: the credential whose life is checked inside the transaction that moves the money. */
export type Credential = { readonly kind: 'api_key' | 'session' | 'operator'; readonly id: bigint }

/** How the work that a hold paid for ended: only a failed call may be refunded. */
export type Outcome = 'success' | 'failed'

/** Sets money aside before the work is begun. `holdId` is chosen by the caller, so that a repeat is recognised. */
export interface Reserve {
  readonly operation: 'reserve'
  readonly holdId: bigint
  readonly requestId: string
  readonly actorAccountId: bigint
  readonly credential: Credential
  /** The whole worst case; less is granted only down to `minimumMicro`. */
  readonly wantedMicro: Microcredits
  readonly minimumMicro: Microcredits
  /** What is bought: `chat` and the model's id, say. */
  readonly category: string
  readonly subject: string
  /** Kept with the hold for people to read: prices and bounds, never prompts. */
  readonly detail: unknown
  /**
   * True for work that outlives its process, such as a task: the hold stays as it is when the process ends, and
   * whoever carries the work on ends it.
   */
  readonly detached?: boolean
}

/** Takes what the work cost out of the hold and gives the rest back. */
export interface Capture {
  readonly operation: 'capture'
  readonly holdId: bigint
  readonly actualMicro: Microcredits
  readonly outcome: Outcome
  readonly usage: unknown
}

/** Gives the whole hold back: the work was not done and nothing is owed. */
export interface Void {
  readonly operation: 'void'
  readonly holdId: bigint
  readonly outcome: Outcome
  /** Who resolved it and why, when a person did. */
  readonly resolvedBy?: string
  readonly reason?: string
}

/** Keeps the hold: the work was begun and its cost cannot be known. Never zero, never guessed. */
export interface MarkUnknown {
  readonly operation: 'unknown'
  readonly holdId: bigint
  readonly reason: string
  /** What is known of it, to look it up by later: ids at the provider, never content. */
  readonly evidence?: unknown
}

/** What one flush of the hot path may carry. */
export type Operation =
  | Reserve
  | (Capture & { readonly resolvedBy?: string; readonly reason?: string })
  | Void
  | MarkUnknown

/** What `ledger_apply` says of one operation. */
export interface Applied {
  readonly status: Status
  /** Reserved or captured microcredits, where the status has an amount. */
  readonly amountMicro: bigint | undefined
  /** What the actor can still spend, its owner's share included, after the whole flush. */
  readonly availableMicro: bigint | undefined
  /** The numbers of a refusal. */
  readonly detail: Readonly<Record<string, unknown>> | undefined
}

/** Every answer of `ledger_apply`; each is decided in hold.ts. */
export const statuses = [
  'reserved',
  'insufficient_credits',
  'budget_exceeded',
  'unauthorized',
  'account_banned',
  'account_deactivated',
  'process_ended',
  'conflict',
  'captured',
  'voided',
  'shortfall',
  'usage_unknown',
  'already_resolved',
  'hold_not_found',
] as const
/** One of those answers. */
export type Status = (typeof statuses)[number]

const TEXT_MAX = 500

/** Text that PostgreSQL takes: a provider's words may hold what it refuses, and must not keep a hold from ending. */
const storable = (text: string | undefined): string | undefined =>
  text?.slice(0, TEXT_MAX).toWellFormed().replaceAll('\0', '')

/** The JSON that `ledger_apply` takes for an operation of a process. Amounts are exact: they stay below 2^53. */
export function wireForm(operation: Operation, processId: bigint): Record<string, unknown> {
  const id = Number(operation.holdId)
  switch (operation.operation) {
    case 'reserve':
      return {
        operation: 'reserve',
        id,
        request_id: operation.requestId,
        actor_account_id: Number(operation.actorAccountId),
        credential_kind: operation.credential.kind,
        credential_id: Number(operation.credential.id),
        wanted_micro: Number(operation.wantedMicro),
        minimum_micro: Number(operation.minimumMicro),
        category: operation.category,
        subject: operation.subject,
        process_id: operation.detached === true ? null : Number(processId),
        detail: operation.detail,
      }
    case 'capture':
      return {
        operation: 'capture',
        id,
        actual_micro: Number(operation.actualMicro),
        outcome: operation.outcome,
        usage: operation.usage,
        resolved_by: operation.resolvedBy,
        reason: storable(operation.reason),
      }
    case 'void':
      return {
        operation: 'void',
        id,
        actual_micro: 0,
        outcome: operation.outcome,
        resolved_by: operation.resolvedBy,
        reason: storable(operation.reason),
      }
    case 'unknown':
      return { operation: 'unknown', id, reason: storable(operation.reason), usage: operation.evidence }
  }
}
