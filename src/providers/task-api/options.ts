import type { TransportOptions } from '../transport.ts'

/** A step at which a provider says how a job stands. */
export type Standing = 'queuing' | 'generating' | 'succeeded' | 'failed'

/** Where an answer tells how a job stands. Each is a pointer (pointer.ts) into its JSON. */
export interface StateReading {
  readonly state: string
  /** The provider's words for each standing. A word that is not here says nothing. */
  readonly states: Readonly<Record<string, Standing>>
  readonly progress?: string
  /** What `progress` is when all is done: 1 or 100. */
  readonly progressFull: number
  /** The URLs or `data:` URLs of the files: a text, a list of texts, or a list of objects with `url`. */
  readonly files?: string
  /** How many units the provider counted. */
  readonly units?: string
  readonly errorCode?: string
  readonly errorMessage?: string
}

/** How a job is submitted. */
export interface SubmitDescription {
  /** Template, behind the base address. */
  readonly path: string
  /** JSON template of the body. */
  readonly body: string
  /** Templates by name in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** Where a 2xx says whether it is one: only this value is, anything else is an error with the value as its status. */
  readonly ok?: { readonly at: string; readonly value: string }
  /** Where the answer has the job's id. */
  readonly id: string
  /** Where it has URLs to ask by, if it has them. They count when they are of the provider's own origin. */
  readonly pollUrl?: string
  readonly resultUrl?: string
  readonly cancelUrl?: string
  /** Where an answer that is an error says why. */
  readonly errorMessage?: string
}

/** How an authentic callback is told from any other. */
export interface CallbackSignature {
  readonly secret: string
  /** The header with the signatures, in lower case; several are separated by spaces or commas. */
  readonly header: string
  /** What each signature begins with, such as `v1,` or `sha256=`. */
  readonly prefix: string
  readonly encoding: 'hex' | 'base64'
  /** Template of what is signed: {{body}}, {{header.<name>}} and {{body.<pointer>}}. */
  readonly content: string
  /** The header with the time of sending in Unix seconds; with it a callback may be `toleranceMs` old. */
  readonly timestampHeader?: string
  readonly toleranceMs: number
}

/** How a provider's callbacks are read. */
export interface CallbackDescription {
  /** Where the callback has the job's id. */
  readonly id: string
  /** undefined: it is taken as a hint to ask at once, and nothing in it is believed. */
  readonly signed?: { readonly by: CallbackSignature; readonly reading: StateReading }
}

/** A service of submitted jobs, described. */
export interface TaskApiOptions extends TransportOptions {
  readonly submit: SubmitDescription
  readonly poll: StateReading & {
    readonly path: string
    readonly everyMs: number
  }
  /** A question of its own for the files, once the job has succeeded. Its answer is read by `poll.files` and `poll.units`. */
  readonly result?: { readonly path: string }
  readonly cancel?: { readonly path: string; readonly method: 'POST' | 'PUT' | 'DELETE' }
  /** A question for the job of an attempt. An answer without an id, or 404, means that there is none. */
  readonly find?: { readonly path: string; readonly id: string }
  readonly callback?: CallbackDescription
  /** Whether the provider charges for jobs that fail; undefined: it does not say. */
  readonly failuresBilled: boolean | undefined
  /** Milliseconds since 1970. */
  readonly now: () => number
}
