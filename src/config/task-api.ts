import type { Static } from 'typebox'
import type { TaskApiProvider } from './schema-task-api.ts'

type FileTaskApi = Static<typeof TaskApiProvider>
type FileSignature = NonNullable<NonNullable<FileTaskApi['callback']>['signature']>
type Standing = keyof FileTaskApi['poll']['states']

/** Where an answer tells how a job stands. */
export interface TaskApiReading {
  readonly state: string
  readonly states: Readonly<Record<string, Standing>>
  readonly progress?: string
  readonly progressFull: number
  readonly files?: string
  readonly units?: string
  readonly errorCode?: string
  readonly errorMessage?: string
}

/** A service of submitted jobs. Its keys are in Secrets.providerKeys and Secrets.callbackSecrets. */
export interface TaskApiConfig {
  readonly kind: 'task-api'
  readonly baseUrl: string
  readonly apiKeyEnv: string | undefined
  readonly auth: { readonly header: string; readonly scheme: string }
  readonly headers: Readonly<Record<string, string>>
  readonly connections: number
  readonly connectTimeoutMs: number
  readonly headersTimeoutMs: number
  readonly idleTimeoutMs: number
  readonly maxResponseBytes: number
  readonly submit: {
    readonly path: string
    readonly body: string
    readonly headers: Readonly<Record<string, string>>
    readonly ok?: { readonly at: string; readonly value: string }
    readonly id: string
    readonly pollUrl?: string
    readonly resultUrl?: string
    readonly cancelUrl?: string
    readonly errorMessage?: string
  }
  readonly poll: TaskApiReading & { readonly path: string; readonly everyMs: number }
  readonly result?: { readonly path: string }
  readonly cancel?: { readonly path: string; readonly method: 'POST' | 'PUT' | 'DELETE' }
  readonly find?: { readonly path: string; readonly id: string }
  readonly callback?: {
    readonly id: string
    readonly signature?: {
      readonly secretEnv: string
      readonly header: string
      readonly prefix: string
      readonly encoding: 'hex' | 'base64'
      readonly content: string
      readonly timestampHeader?: string
      readonly toleranceMs: number
      readonly reading: TaskApiReading
    }
  }
  readonly failuresBilled: boolean | undefined
}

/** What the file says of such a service, in our words. */
export function resolveTaskApi(provider: FileTaskApi): TaskApiConfig {
  const { submit, poll, result, cancel, find, callback } = provider
  const reading: TaskApiReading = {
    state: poll.state,
    states: standingByWord(poll.states),
    progressFull: poll.progress_full,
    ...present({
      progress: poll.progress,
      files: poll.files,
      units: poll.units,
      errorCode: poll.error_code,
      errorMessage: poll.error_message,
    }),
  }
  return {
    kind: 'task-api',
    baseUrl: provider.base_url.replace(/\/+$/, ''),
    apiKeyEnv: provider.api_key_env,
    auth: { header: provider.auth_header.toLowerCase(), scheme: provider.auth_scheme },
    headers: lowerCased(provider.headers),
    connections: provider.connections,
    connectTimeoutMs: provider.connect_timeout_ms,
    headersTimeoutMs: provider.headers_timeout_ms,
    idleTimeoutMs: provider.idle_timeout_ms,
    maxResponseBytes: provider.max_response_bytes,
    submit: {
      path: submit.path,
      body: submit.body,
      headers: lowerCased(submit.headers),
      id: submit.id,
      ...present({
        ok: submit.ok,
        pollUrl: submit.poll_url,
        resultUrl: submit.result_url,
        cancelUrl: submit.cancel_url,
        errorMessage: submit.error_message,
      }),
    },
    poll: { ...reading, path: poll.path, everyMs: poll.every_ms },
    ...present({
      result,
      cancel,
      find,
      callback: callback && {
        id: callback.id,
        ...present({ signature: callback.signature && signatureOf(callback.signature, reading) }),
      },
    }),
    failuresBilled: { yes: true, no: false, unknown: undefined }[provider.failures_billed],
  }
}

/** A callback is read like an answer, but where its own pointers say otherwise. */
function signatureOf(signature: FileSignature, { files: _files, ...reading }: TaskApiReading) {
  return {
    secretEnv: signature.secret_env,
    header: signature.header.toLowerCase(),
    prefix: signature.prefix,
    encoding: signature.encoding,
    content: signature.content,
    ...present({ timestampHeader: signature.timestamp_header?.toLowerCase() }),
    toleranceMs: signature.tolerance_ms,
    reading: {
      ...reading,
      ...present({
        state: signature.state,
        files: signature.files,
        errorCode: signature.error_code,
        errorMessage: signature.error_message,
      }),
    },
  }
}

/** The standing that each word stands for; of a word that is named twice the last. */
function standingByWord(states: FileTaskApi['poll']['states']): Record<string, Standing> {
  const table: Record<string, Standing> = Object.create(null)
  for (const standing of ['queuing', 'generating', 'succeeded', 'failed'] as const)
    for (const word of states[standing]) table[word] = standing
  return table
}

const lowerCased = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))

/** The members that are there. */
function present<T extends object>(members: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>
  }
}
