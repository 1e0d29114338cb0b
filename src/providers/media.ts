import type { JsonObject } from './provider.ts'

/** One picture or film to be made, as a provider gets it. */
export interface MediaJob {
  readonly type: 'image' | 'video'
  /** The model's name at the provider. */
  readonly model: string
  /** What the client asked for, in the fields of our own API; fields that we do not know are forwarded. */
  readonly input: JsonObject
  /** The pictures that the client gave to start from, in its order. They are not in `input`. */
  readonly images: readonly InputImage[]
  /** Our id of this attempt: sent as idempotency key or reference where the provider takes one, so that a job can be found again. */
  readonly attemptId: string
  /** Where the provider may report the end; undefined: it is polled. */
  readonly callbackUrl: string | undefined
  /** Aborted when the server must end. */
  readonly signal?: AbortSignal
}

/** A picture that a client gave. */
export interface InputImage {
  /** Where a provider can fetch it: the client's own URL, or a signed one of ours. May be a `data:` URL. */
  readonly url: string
  /** Its bytes, for providers that want them in the request; undefined when they cannot be had. Never rejects. */
  read(signal?: AbortSignal): Promise<{ readonly bytes: Uint8Array; readonly contentType: string } | undefined>
}

/** What is needed to ask for a job again. */
export interface JobReference {
  readonly providerJobId: string
  /** The model's name at the provider, as in its MediaJob. */
  readonly model: string
  /** What the provider's answer said beside the id, kept with the job for its adapter alone; undefined: nothing. */
  readonly memo: string | undefined
}

/** A file that a provider made: its bytes, or where they can be fetched. */
export type MediaFile =
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  | { readonly kind: 'url'; readonly url: string }

/** A job that is over. `units`: what the provider counted (images, seconds); undefined: it did not say. */
export type MediaEnd =
  | { readonly kind: 'succeeded'; readonly files: readonly MediaFile[]; readonly units: number | undefined }
  | FailedWork

/** Work that ended without a result. */
export interface FailedWork {
  readonly kind: 'failed'
  readonly code: string
  readonly message: string
  /** Whether it is charged for; undefined: it cannot be known. */
  readonly billed: boolean | undefined
}

/**
 * How a submission ended, by what it means for money:
 * `refused`   no job was made and nothing is owed;
 * `lost`      it was sent and whether a job exists cannot be known;
 * `accepted`  a job exists under this id;
 * else it is over already.
 */
export type Submission<End> =
  | {
      readonly kind: 'refused'
      readonly status: number | undefined
      readonly message: string
      readonly retryable: boolean
      readonly retryAfterMs?: number
    }
  | { readonly kind: 'lost'; readonly message: string }
  | {
      readonly kind: 'accepted'
      readonly providerJobId: string
      /** Keep it, and give it back in the JobReference. */
      readonly memo: string | undefined
      readonly nextPollMs: number | undefined
    }
  | End

/** How the submission of a media job ended. */
export type Submitted = Submission<MediaEnd>

/** How a job stands. `unreachable` says nothing about it: ask again. `missing`: the provider knows no such job. */
export type WorkState<End> =
  | {
      readonly kind: 'running'
      readonly state: 'queuing' | 'generating'
      /** 0 to 1. */
      readonly progress: number | undefined
      readonly nextPollMs: number | undefined
    }
  | { readonly kind: 'unreachable'; readonly message: string }
  | { readonly kind: 'missing' }
  | End

/** How a media job stands. */
export type JobState = WorkState<MediaEnd>

/** What a provider sent to our callback address, its authenticity checked by the adapter. */
export interface Callback {
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: Uint8Array
}

/** A place that makes pictures or films. No method rejects: every ending is a value. */
export interface MediaProvider {
  /** A provider that answers in one request ends here with `succeeded` or `failed`, which may take minutes. */
  submit(job: MediaJob): Promise<Submitted>
  poll(job: JobReference, signal?: AbortSignal): Promise<JobState>
  /** Looks for the job of an attempt whose submission was lost; undefined where the provider offers no such look. */
  readonly find: ((attempt: { readonly attemptId: string; readonly model: string }) => Promise<Found>) | undefined
  /** Asks the provider to stop; its word on the end comes by `poll`. undefined where it cannot be asked. */
  readonly cancel: ((job: JobReference) => Promise<void>) | undefined
  /** Reads a callback; undefined when it is not authentic or says nothing of a job. */
  readonly readCallback:
    | ((callback: Callback) => { readonly providerJobId: string; readonly state: JobState } | undefined)
    | undefined
  close(): Promise<void>
}

/** What a look for a lost job found. `missing`: surely no job was made of that attempt. */
export type Found =
  | Extract<Submitted, { kind: 'accepted' }>
  | MediaEnd
  | { readonly kind: 'missing' }
  | { readonly kind: 'unreachable'; readonly message: string }
