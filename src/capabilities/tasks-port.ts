import type { Caller } from '../kernel/caller.ts'
import type { Microcredits } from '../kernel/money.ts'
import type { JsonObject } from '../providers/provider.ts'

/** An asynchronous call, to be made a task. */
export interface TaskRequest {
  readonly caller: Caller
  readonly requestId: string
  readonly capabilitySlug: string
  readonly capabilityVersion: string
  /** What the task shows as its request; handed back to `runJob`, in whichever process the work is done. */
  readonly request: JsonObject
  /** What is held, as units; charged when the work counts none. */
  readonly price: {
    readonly version: number
    readonly unit: string
    readonly unitMicro: Microcredits
    readonly units: number
  }
  readonly webhookUrl: string | undefined
  readonly etaSeconds: number
}

/** A task that was just made, its hold durable. */
export interface MadeTask {
  /** The answer of its creation (spec 2.10). */
  readonly view: JsonObject
  readonly callId: bigint
  readonly reserveMicro: Microcredits
}

/** Makes tasks: implemented by the room of tasks, passed in by app. Refuses as openCall does. */
export type CreateTask = (request: TaskRequest) => Promise<MadeTask>
