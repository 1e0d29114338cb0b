import type { FailedWork, Submission, WorkState } from '../../providers/media.ts'
import type { JsonObject } from '../../providers/provider.ts'

/** A place that can do a task's work, as its attempt remembers it. */
export interface Place {
  readonly provider: string
  /** The model's name there; a capability's upstream has a name too. */
  readonly model: string
}

/** A file that a client sent with its task. */
export interface Upload {
  readonly contentType: string
  readonly bytes: Uint8Array
}

/** What is to be done, once: one attempt of one task. */
export interface Work {
  readonly taskId: string
  readonly accountId: bigint
  readonly type: string
  readonly model: string
  readonly place: Place
  /** Our id of this attempt: unique for ever, so that work can be found again by it. */
  readonly attemptId: string
  readonly request: JsonObject
  readonly uploads: readonly Upload[]
  /** Where the place may report the end. */
  readonly callbackUrl: string
  /** Aborted when the server must end. */
  readonly signal: AbortSignal
}

/** Work that is over. `result` is kept with the task; `units`: what was made, by the place's own count. */
export type WorkEnd =
  | { readonly kind: 'succeeded'; readonly result: JsonObject; readonly units: number | undefined }
  | FailedWork

/** How a submission went. `refused`: nothing was begun. `lost`: whether it was begun cannot be known. */
export type Begun = Submission<WorkEnd>

/** How work stands. `unreachable` says nothing about it; `missing`: the place knows of no such work. */
export type Standing = WorkState<WorkEnd>

/** Accepted work as its place knows it. */
export interface JobReference {
  readonly providerJobId: string
  readonly memo: string | undefined
}

/** Which attempt of which task is asked about. */
export type Asked = Omit<Work, 'request' | 'uploads' | 'callbackUrl' | 'signal'>

/**
 * Does the work of tasks. Tasks name their runner, and another process may go on where one ended, so a runner keeps
 * nothing that it could not find again. No method may be called twice for one attempt except `poll`, `find` and
 * `cancel`. A method that rejects is taken as `lost` or `unreachable`.
 */
export interface TaskRunner {
  /** Where this task's work may be done, in the order in which they are tried. */
  places(task: { readonly model: string; readonly type: string }): readonly Place[]
  submit(work: Work): Promise<Begun>
  poll(asked: Asked, job: JobReference, signal: AbortSignal): Promise<Standing>
  /** Whether the place offers to look for work by our id of the attempt. */
  canFind(asked: Asked): boolean
  /** Looks for the work of an attempt whose submission was lost. Called only where `canFind`. */
  find(asked: Asked): Promise<Begun | { readonly kind: 'missing' } | { readonly kind: 'unreachable' }>
  /** Asks the place to stop; undefined where it cannot be asked. The end comes by `poll`. */
  cancel(asked: Asked, job: JobReference): Promise<void> | undefined
  /** Reads what was sent to the attempt's callback address; undefined when it is not authentic or says nothing of it. */
  readCallback(
    asked: Asked,
    callback: { readonly headers: Readonly<Record<string, string | undefined>>; readonly body: Uint8Array },
  ): Promise<{ readonly providerJobId: string; readonly standing: Standing } | undefined>
  /** The result as readers get it now, with links that work until `until`. */
  present(result: JsonObject, until: Date): Promise<JsonObject>
  /** What of a request is kept once the task has ended and nobody will work by it again, until results expire. */
  remember(request: JsonObject): JsonObject
  /** Whether results are what was made itself, and not only where its files are: then they are forgotten as files are. */
  readonly keepsContent: boolean
}
