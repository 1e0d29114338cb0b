import type { PaymentHint } from '../../billing/calls/lifecycle.ts'
import type { Database } from '../../db/database.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Random } from '../../kernel/random.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { CheckWebhookUrl } from '../request.ts'
import type { CallbackAddresses } from './callbacks.ts'
import type { TaskRunner } from './runner.ts'
import type { Waiting } from './waiting.ts'

/** Times that tasks live by, in milliseconds. */
export interface TaskPace {
  /** How long a process that fell silent keeps what it works on. Work that takes longer is renewed. */
  readonly leaseMs: number
  /** Between looks for work that nobody announced: of other processes, or come due. */
  readonly idleMs: number
  /** Between questions to a place that does not say when to ask again. */
  readonly pollMs: number
  /** Between questions once our patience is over. */
  readonly latePollMs: number
  /** How old a submission must be before its place is believed that it never came. */
  readonly missingAfterMs: number
  /** How long work whose outcome is unknown is waited for before the task is given up. Its money stays unknown. */
  readonly giveUpMs: number
  /** Between tries to keep a result that cannot be asked for again. */
  readonly keepPauseMs: number
  /** How long a task may take to be held before the sweep looks after it. */
  readonly unheldMs: number
}

/** What a real server lives by. */
export const taskPace: TaskPace = {
  leaseMs: 15_000,
  idleMs: 500,
  pollMs: 2_000,
  latePollMs: 30_000,
  missingAfterMs: 60_000,
  giveUpMs: 24 * 3_600_000,
  keepPauseMs: 2_000,
  unheldMs: 60_000,
}

/** How the delivery of a finished task to its own URL stands. */
export interface WebhookDelivery {
  readonly status: 'pending' | 'delivered' | 'failed'
  readonly attempts: number
  readonly lastAttemptAt: Date | undefined
  readonly lastStatus: number | undefined
}

/** What tasks need from outside. */
export interface TaskDeps {
  readonly db: Database
  readonly ledger: Ledger
  readonly clock: Clock
  readonly random: Random
  readonly processId: bigint
  readonly paymentHint: PaymentHint
  /** By name. Every process on the database must know the same ones. */
  readonly runners: Readonly<Record<string, TaskRunner>>
  readonly callbacks: CallbackAddresses
  readonly waiting: Waiting
  /** Judges a `webhook_url` before it is kept. */
  readonly checkedWebhookUrl: CheckWebhookUrl
  /** How the deliveries of these tasks to their own URLs stand, by task id; without those that there are none of. */
  readonly webhookDeliveries: (taskIds: readonly string[]) => Promise<ReadonlyMap<string, WebhookDelivery>>
  readonly pace: TaskPace
  /** How long the links in a result work, from the end of the task on. */
  readonly resultLifeMs: number
  /** Aborted when running submissions may wait no longer. */
  readonly ending: AbortSignal
  /** There is work: look now. */
  readonly wake: () => void
  readonly onTrouble: (message: string, error: unknown) => void
}
