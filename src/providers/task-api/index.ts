import type { Callback, Found, JobReference, JobState, MediaJob, MediaProvider, Submitted } from '../media.ts'
import type { JsonObject } from '../provider.ts'
import { objectFrom, refusalByStatus } from '../refusal.ts'
import { Scrubber } from '../scrubber.ts'
import { submissionIsUncertain } from '../submission.ts'
import { openWire, type Wire, type WireRequest } from '../wire.ts'
import { isAuthentic } from './callback.ts'
import type { StateReading, TaskApiOptions } from './options.ts'
import { valueAt } from './pointer.ts'
import { failureIn, standingIn, successIn, textAt } from './reading.ts'
import { filledJson, filledPath, filledText, type Values } from './template.ts'

/**
 * A service that takes jobs and is asked, or tells, how they stand: which paths, fields and words it has is described
 * in the options. Throws TypeError when they cannot be meant so.
 */
export function createTaskApi(options: TaskApiOptions): MediaProvider {
  const { find, cancel, callback } = options
  const wire = openWire(options)
  const secrets = [options.apiKey, callback?.signed?.by.secret, ...Object.values(options.headers ?? {})]
  const api: Api = { options, wire, scrubber: new Scrubber(secrets) }
  const bodyTemplate = parsedTemplate(options)
  return {
    submit: (job) => submit(api, bodyTemplate, job),
    poll: (job, signal) => poll(api, job, signal),
    find: find && ((attempt) => found(api, find, attempt)),
    cancel:
      cancel &&
      (async (job) => {
        const memo = memoOf(job)
        await wire.send({ ...at(memo.cancel, cancel.path, valuesOf(job)), method: cancel.method })
      }),
    readCallback: callback && ((received) => readCallback(api, received)),
    close: wire.close,
  }
}

interface Api {
  readonly options: TaskApiOptions
  readonly wire: Wire
  readonly scrubber: Scrubber
}

/** Paths that the submission's answer named, for later questions. */
interface Memo {
  readonly poll?: string
  readonly result?: string
  readonly cancel?: string
}

async function submit({ options, wire, scrubber }: Api, template: unknown, job: MediaJob): Promise<Submitted> {
  const { name, submit: description } = options
  // what is ours; a client's words stay out of headers
  const own = { model: job.model, attempt_id: job.attemptId, callback_url: job.callbackUrl }
  const values = {
    ...own,
    type: job.type,
    input: job.input,
    images: job.images.length === 0 ? undefined : job.images.map(({ url }) => url),
    image: job.images[0]?.url,
  }
  const answer = await wire.send({
    method: 'POST',
    path: filledPath(description.path, values),
    headers: Object.fromEntries(
      Object.entries(description.headers).map(([header, value]) => [header, filledText(value, own)]),
    ),
    body: JSON.stringify(filledJson(template, values)),
    signal: job.signal,
  })
  if (answer.kind === 'unsent') {
    return { kind: 'refused', status: undefined, message: answer.message, retryable: !answer.aborted }
  }
  if (answer.kind === 'lost') return answer
  const { status, headers, text } = answer
  const body = objectFrom(text)
  const refusal = (as: number): Extract<Submitted, { kind: 'refused' }> => {
    const message = body ? scrubber.clean(textAt(body, description.errorMessage)) : ''
    return { ...refusalByStatus({ name, scrubber, status: as, headers, text }), ...(message === '' ? {} : { message }) }
  }
  if (status >= 300) {
    return submissionIsUncertain(status) ? { kind: 'lost', message: refusal(status).message } : refusal(status)
  }
  // A job may exist whenever a success cannot be read.
  if (!body) return { kind: 'lost', message: `${name} answered ${status} without a JSON object.` }
  const verdict = description.ok && textAt(body, description.ok.at)
  if (verdict !== undefined && verdict !== '' && verdict !== description.ok?.value) {
    return refusal(/^[45]\d\d$/.test(verdict) ? Number(verdict) : 400)
  }
  return (
    accepted(wire, options, body) ?? { kind: 'lost', message: `${name} answered ${status} without the id of a job.` }
  )
}

function accepted(
  wire: Wire,
  { submit: description, poll: { everyMs } }: TaskApiOptions,
  body: JsonObject,
): Extract<Submitted, { kind: 'accepted' }> | undefined {
  const id = textAt(body, description.id)
  if (id === '' || id.length > ID_LENGTH_MAX) return undefined
  const pathAt = (pointer: string | undefined) =>
    pointer === undefined ? undefined : wire.pathOf(valueAt(body, pointer))
  const paths = {
    poll: pathAt(description.pollUrl),
    result: pathAt(description.resultUrl),
    cancel: pathAt(description.cancelUrl),
  }
  const memo = JSON.stringify(paths)
  return { kind: 'accepted', providerJobId: id, memo: memo === '{}' ? undefined : memo, nextPollMs: everyMs }
}

async function poll(api: Api, job: JobReference, signal: AbortSignal | undefined): Promise<JobState> {
  const { options } = api
  const memo = memoOf(job)
  const body = await ask(api, { ...at(memo.poll, options.poll.path, valuesOf(job)), signal })
  if (body.kind !== 'object') return body.kind === 'unusable' ? { kind: 'unreachable', message: body.message } : body
  return stateIn(api, body.object, options.poll, async () => {
    if (!options.result) return body.object
    const result = await ask(api, { ...at(memo.result, options.result.path, valuesOf(job)), signal })
    if (result.kind === 'object') return result.object
    if (result.kind !== 'unusable' || !result.final)
      return { kind: 'unreachable', message: 'The result cannot be read yet.' }
    const { name, failuresBilled } = options
    return failureIn(
      result.object,
      { errorMessage: '/detail' },
      { name, scrubber: api.scrubber, billed: failuresBilled },
    )
  })
}

/** The state that an answer tells; `result` gives what has the files of a job that succeeded. */
async function stateIn(
  { options: { name, poll: description, failuresBilled }, scrubber }: Api,
  body: JsonObject,
  reading: StateReading,
  result: () => Promise<JsonObject | JobState>,
): Promise<JobState> {
  const { standing, progress } = standingIn(body, reading)
  if (standing === 'unclear') return { kind: 'unreachable', message: `${name} answered without a state that is known.` }
  if (standing === 'failed') return failureIn(body, reading, { name, scrubber, billed: failuresBilled })
  if (standing !== 'succeeded') return { kind: 'running', state: standing, progress, nextPollMs: description.everyMs }
  const files = await result()
  return isState(files) ? files : successIn(files, reading, name)
}

const isState = (value: JsonObject | JobState): value is JobState =>
  value.kind === 'unreachable' || value.kind === 'failed'

type Asked =
  | { readonly kind: 'object'; readonly object: JsonObject }
  | { readonly kind: 'missing' }
  /** `final`: the provider refuses for good what was asked about. */
  | { readonly kind: 'unusable'; readonly message: string; readonly final: boolean; readonly object: JsonObject }

/** Asks a question that changes nothing, so that a lost answer is asked for again. */
async function ask({ options: { name }, wire }: Api, request: Omit<WireRequest, 'method'>): Promise<Asked> {
  const unusable = (message: string, final = false, object: JsonObject = {}): Asked => ({
    kind: 'unusable',
    message,
    final,
    object,
  })
  const answer = await wire.send({ ...request, method: 'GET' })
  if (answer.kind !== 'answer') return unusable(answer.message)
  const { status, text } = answer
  if (status === 404 || status === 410) return { kind: 'missing' }
  const object = objectFrom(text)
  if (status >= 300) return unusable(`${name} answered ${status}.`, status === 400 || status === 422, object)
  return object ? { kind: 'object', object } : unusable(`${name} answered ${status} without a JSON object.`)
}

async function found(
  api: Api,
  find: NonNullable<TaskApiOptions['find']>,
  { attemptId, model }: { attemptId: string; model: string },
): Promise<Found> {
  const answer = await ask(api, { path: filledPath(find.path, { attempt_id: attemptId, model }) })
  if (answer.kind === 'missing') return answer
  if (answer.kind === 'unusable') return { kind: 'unreachable', message: answer.message }
  const id = textAt(answer.object, find.id)
  if (id === '') return { kind: 'missing' }
  return { kind: 'accepted', providerJobId: id, memo: undefined, nextPollMs: api.options.poll.everyMs }
}

function readCallback(api: Api, received: Callback): { providerJobId: string; state: JobState } | undefined {
  const { options, scrubber } = api
  const { callback, name, failuresBilled } = options
  const body = objectFrom(Buffer.from(received.body).toString())
  const providerJobId = callback && body ? textAt(body, callback.id) : ''
  if (!callback || !body || providerJobId === '' || providerJobId.length > ID_LENGTH_MAX) return undefined
  const askNow: JobState = { kind: 'running', state: 'generating', progress: undefined, nextPollMs: 0 }
  if (!callback.signed) return { providerJobId, state: askNow }
  const { by, reading } = callback.signed
  if (!isAuthentic(received, by, options.now())) return undefined
  const { standing, progress } = standingIn(body, reading)
  if (standing === 'failed') {
    return { providerJobId, state: failureIn(body, reading, { name, scrubber, billed: failuresBilled }) }
  }
  // files that are not in the callback are asked for
  if (standing === 'succeeded' && reading.files !== undefined)
    return { providerJobId, state: successIn(body, reading, name) }
  if (standing === 'succeeded' || standing === 'unclear') return { providerJobId, state: askNow }
  return { providerJobId, state: { kind: 'running', state: standing, progress, nextPollMs: options.poll.everyMs } }
}

const ID_LENGTH_MAX = 500

/** A path that the provider itself named, or the described one. */
const at = (named: string | undefined, path: string, values: Values): Pick<WireRequest, 'path' | 'fromRoot'> =>
  named === undefined ? { path: filledPath(path, values) } : { path: named, fromRoot: true }

const valuesOf = ({ providerJobId, model }: JobReference): Values => ({ job_id: providerJobId, model })

function memoOf({ memo }: JobReference): Memo {
  return (objectFrom(memo ?? '{}') ?? {}) as Memo
}

function parsedTemplate({ name, submit: { body } }: TaskApiOptions): unknown {
  const template = objectFrom(body)
  if (!template) throw new TypeError(`provider ${name}: submit.body is not a JSON object`)
  return template
}
