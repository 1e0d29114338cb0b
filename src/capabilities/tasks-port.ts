import type { Caller } from '../kernel/caller.ts'
import type { Microcredits } from '../kernel/money.ts'
import type { JsonObject } from '../providers/provider.ts'

/** An asynchronous call, to be made a task. */
export interface TaskRequest {
  readonly caller: Caller
  readonly requestId: string
  readonly capabilitySlug: string
  readonly capabilityVersion: string
  /** Of the hold, for statements. */
  readonly category: string
  readonly subject: string
  readonly holdMicro: Microcredits
  /** Price snapshot, kept with the hold. Never the input. */
  readonly detail: JsonObject
  /** Handed back to `runJob`, in whichever process the task is done. */
  readonly job: JsonObject
  /** What the task shows as its request. */
  readonly request: JsonObject
  readonly webhookUrl: string | undefined
  readonly recommendedPollIntervalMs: number
  readonly etaHintSeconds: number
}

/** A task that was just made, its hold durable. */
export interface MadeTask {
  /** The answer of its creation (spec 2.10). */
  readonly view: JsonObject
  readonly callId: bigint
  readonly reserveMicro: Microcredits
  readonly availableMicro: Microcredits
}

/** Makes tasks: implemented by the room of tasks, passed in by app. Refuses as openCall does. */
export type CreateTask = (request: TaskRequest) => Promise<MadeTask>
