import type { MediaModelConfig } from '../config/media-models.ts'
import type { Clock } from '../kernel/clock.ts'
import { Fault } from '../kernel/errors.ts'
import type { InputImage, MediaEnd, MediaProvider } from '../providers/media.ts'
import type { JsonObject } from '../providers/provider.ts'
import { presentResult, resultOf } from './kept-result.ts'
import { type ResultKeeper, ResultRefused } from './results-port.ts'
import type { Asked, TaskRunner, Upload, Work, WorkEnd } from './tasks/runner.ts'

/** The name by which tasks of pictures and films find their runner. */
export const MEDIA_RUNNER = 'media'

/** What makes pictures and films. */
export interface MediaRunnerDeps {
  readonly providers: Readonly<Record<string, MediaProvider>>
  /** Models by id; a function, so that they can change while tasks run. */
  readonly models: () => ReadonlyMap<string, MediaModelConfig>
  readonly results: ResultKeeper
  /** A picture that a client named by its address, for providers that want its bytes. */
  readonly pictureAt: (url: string) => InputImage
  readonly clock: Clock
  /** Between tries to keep a result that cannot be asked for again. */
  readonly keepPauseMs: number
  readonly onTrouble: (message: string, error: unknown) => void
  readonly onAttempt: (provider: string, kind: string) => void
}

/** Fields that are for us, not for a provider. */
const OURS = new Set(['model', 'response_format', 'async', 'webhook_url', 'callBackUrl', 'image_input'])
const KEEP_TRIES = 3

/** Does tasks of type `image` and `video` by the providers of their models. */
export function mediaRunner(deps: MediaRunnerDeps): TaskRunner {
  const providerOf = ({ place }: Asked): MediaProvider | undefined => deps.providers[place.provider]
  return {
    places(task) {
      const routes = deps.models().get(task.model)?.providers ?? []
      return routes.filter(({ provider }) => deps.providers[provider] !== undefined)
    },
    async submit(work) {
      const provider = providerOf(work)
      if (!provider) return { kind: 'refused', status: undefined, message: 'the provider is gone', retryable: true }
      const submitted = await provider.submit({
        type: typeOf(work),
        model: work.place.model,
        input: Object.fromEntries(Object.entries(work.request).filter(([name]) => !OURS.has(name))),
        images: picturesOf(deps, work),
        attemptId: work.attemptId,
        callbackUrl: work.callbackUrl,
        signal: work.signal,
      })
      deps.onAttempt(work.place.provider, submitted.kind)
      return submitted.kind === 'succeeded' || submitted.kind === 'failed'
        ? madeAtOnce(deps, work, submitted)
        : submitted
    },
    async poll(asked, { providerJobId, memo }, signal) {
      const provider = providerOf(asked)
      if (!provider) return { kind: 'unreachable', message: 'the provider is not configured any more' }
      const state = await provider.poll({ providerJobId, memo, model: asked.place.model }, signal)
      if (state.kind !== 'succeeded' && state.kind !== 'failed') return state
      // the provider has it still: it is asked for again
      return (
        (await kept(deps, asked, state, signal)) ?? { kind: 'unreachable', message: 'the result cannot be kept now' }
      )
    },
    canFind: (asked) => providerOf(asked)?.find !== undefined,
    async find(asked) {
      const found = await providerOf(asked)?.find?.({ attemptId: asked.attemptId, model: asked.place.model })
      if (!found || found.kind === 'missing' || found.kind === 'unreachable') return found ?? { kind: 'unreachable' }
      if (found.kind === 'accepted') return found
      return (await kept(deps, asked, found, AbortSignal.timeout(LATE_FETCH_MS))) ?? { kind: 'unreachable' }
    },
    cancel(asked, { providerJobId, memo }) {
      return providerOf(asked)?.cancel?.({ providerJobId, memo, model: asked.place.model })
    },
    async readCallback(asked, callback) {
      const read = providerOf(asked)?.readCallback?.(callback)
      if (!read) return undefined
      const { providerJobId, state } = read
      if (state.kind !== 'succeeded' && state.kind !== 'failed') return { providerJobId, standing: state }
      const end = await kept(deps, asked, state, AbortSignal.timeout(LATE_FETCH_MS))
      // a provider that is told so reports again
      if (!end) throw new Fault('unavailable', { message: 'The result cannot be kept now. Report it again.' })
      return { providerJobId, standing: end }
    },
    present: (result, until) => presentResult(deps.results, result, until),
    // a picture is shown with its prompt for as long as it can be opened
    remember: (request) => request,
    keepsContent: false,
  }
}

/** How long the files of work that was found, or that a provider reports, may take to be fetched. */
const LATE_FETCH_MS = 600_000

const typeOf = ({ type }: Asked): 'image' | 'video' => (type === 'video' ? 'video' : 'image')

/** The pictures to start from: `upload:1` is the first that came with the task, anything else an address. */
function picturesOf(deps: MediaRunnerDeps, work: Work): InputImage[] {
  const named = Array.isArray(work.request.image_input) ? (work.request.image_input as string[]) : []
  return named.flatMap((name) => {
    const upload = work.uploads[Number(/^upload:(\d+)$/.exec(name)?.[1] ?? 0) - 1]
    return upload ? [uploaded(upload)] : [deps.pictureAt(name)]
  })
}

const uploaded = ({ bytes, contentType }: Upload): InputImage => ({
  url: `data:${contentType};base64,${Buffer.from(bytes).toString('base64')}`,
  read: async () => ({ bytes, contentType }),
})

/** Keeps what was made; undefined when it cannot be kept now. */
async function kept(
  deps: MediaRunnerDeps,
  asked: Asked,
  end: MediaEnd,
  signal: AbortSignal,
): Promise<WorkEnd | undefined> {
  if (end.kind === 'failed') return end
  const type = typeOf(asked)
  if (end.files.length === 0)
    return { kind: 'failed', code: 'upstream_failed', message: 'The provider made nothing.', billed: undefined }
  try {
    const files = await deps.results.keep({ taskId: asked.taskId, type }, end.files, signal)
    const result: JsonObject = resultOf(files, Math.floor(deps.clock.now().getTime() / 1000))
    return { kind: 'succeeded', result, units: end.units ?? (type === 'image' ? files.length : undefined) }
  } catch (error) {
    if (error instanceof ResultRefused)
      return { kind: 'failed', code: 'bad_result', message: error.message, billed: undefined }
    deps.onTrouble('a result could not be kept', error)
    return undefined
  }
}

/** Keeps what came with the answer itself, which nobody can be asked for again. The work was done: it is charged, and refundable as failed. */
async function madeAtOnce(deps: MediaRunnerDeps, work: Work, end: MediaEnd): Promise<WorkEnd> {
  for (let left = KEEP_TRIES; left > 0; left--) {
    const made = await kept(deps, work, end, work.signal)
    if (made) return made
    await new Promise((resolve) => setTimeout(resolve, deps.keepPauseMs))
  }
  return {
    kind: 'failed',
    code: 'result_not_kept',
    message: 'The provider did the work, but its result could not be kept. The call can be refunded.',
    billed: true,
  }
}
