import type { Clock } from '../../../kernel/clock.ts'
import type { JobState, MediaJob, MediaProvider, Submitted } from '../../media.ts'
import { type Drawings, openDrawings } from './drawings.ts'
import { type MediaInstruction, mediaInstructionIn } from './failures.ts'
import { type Order, orderOf } from './order.ts'

/** What the demo of pictures and films depends on. */
export interface DemoMediaOptions {
  readonly clock: Clock
  /** How long the slow models take. Default 10000. */
  readonly slowMs?: number
}

/**
 * The built-in maker of pictures and films: offline, free, and its work depends on nothing but prompt and seed.
 * Models, by the provider-side name: `image`, `video`, `image-slow`, `video-slow`, and `failing`, which fails as the
 * prompt says (failures.ts). All a job is stands in its memo, so a job outlives this process.
 */
export function createDemoMedia({ clock, slowMs = 10_000 }: DemoMediaOptions): MediaProvider {
  const drawings = openDrawings(clock)
  const submissions = new Map<string, Accepted>()
  const canceled = new Set<string>()

  return {
    async submit(job) {
      if (job.signal?.aborted) return refused(undefined, 'The demo provider was not called.')
      const instruction = instructionOf(job.model, String(job.input.prompt ?? ''))
      if (!instruction) return refused(404, `The demo provider has no model ${job.model} for this.`)
      const order = orderOf(job)
      if (typeof order === 'string') return refused(400, order)
      const accepted = acceptedJob(job, order, clock.now().getTime(), isSlow(job.model) ? slowMs : 0)
      if (instruction.submitted && !instruction.findable) return instruction.submitted
      submissions.set(job.attemptId, accepted)
      forgetOldest(submissions)
      return instruction.submitted ?? accepted
    },
    async poll(job) {
      const memo = memoOf(job.memo)
      if (!memo) return { kind: 'missing' }
      if (canceled.has(job.providerJobId)) return CANCELED
      const leftMs = memo.readyAt - clock.now().getTime()
      if (leftMs > 0) return running(leftMs > memo.tookMs * 0.8 ? 'queuing' : 'generating', 1 - leftMs / memo.tookMs)
      const instruction = instructionOf(job.model, memo.order.prompt)
      if (instruction?.garbage) {
        return { kind: 'succeeded', files: [{ kind: 'bytes', bytes: Buffer.from('no picture') }], units: 1 }
      }
      return instruction?.state ?? stateOf(await drawings.fetch(job.providerJobId, memo.order), memo.order)
    },
    async find({ attemptId }) {
      return submissions.get(attemptId) ?? { kind: 'missing' }
    },
    async cancel(job) {
      drawings.drop(job.providerJobId)
      canceled.add(job.providerJobId)
      forgetOldest(canceled)
    },
    readCallback: undefined,
    close: drawings.close,
  }
}

/** Submissions that can be found again by their attempt, and cancellations that are remembered. */
const REMEMBERED_MAX = 1_000
const POLL_AGAIN_MS = 200

const CANCELED = { kind: 'failed', code: 'canceled', message: 'The job was canceled.', billed: false } as const

function forgetOldest(remembered: Map<string, unknown> | Set<string>): void {
  if (remembered.size > REMEMBERED_MAX) remembered.delete(remembered.keys().next().value ?? '')
}

type Accepted = Extract<Submitted, { kind: 'accepted' }>

interface Memo {
  readonly order: Order
  /** Milliseconds since 1970. */
  readonly readyAt: number
  readonly tookMs: number
}

function acceptedJob(job: MediaJob, order: Order, nowMs: number, tookMs: number): Accepted {
  const memo: Memo = { order, readyAt: nowMs + tookMs, tookMs }
  return {
    kind: 'accepted',
    providerJobId: `demo-${job.attemptId}`,
    memo: JSON.stringify(memo),
    nextPollMs: POLL_AGAIN_MS,
  }
}

function memoOf(text: string | undefined): Memo | undefined {
  try {
    return JSON.parse(text ?? '') as Memo
  } catch {
    return undefined
  }
}

function stateOf(drawn: Awaited<ReturnType<Drawings['fetch']>>, { type, seconds, count }: Order): JobState {
  if (drawn === undefined) return { kind: 'unreachable', message: 'The demo provider is closing.' }
  if (drawn === 'queuing') return running('queuing', 0)
  if (drawn === 'generating') return running('generating', 0.9)
  const files = drawn.map((bytes) => ({ kind: 'bytes', bytes }) as const)
  return { kind: 'succeeded', files, units: type === 'video' ? seconds : count }
}

const isSlow = (model: string): boolean => model.endsWith('-slow')

/** How a model treats a prompt; undefined: there is no such model. */
function instructionOf(model: string, prompt: string): MediaInstruction | undefined {
  if (model === 'failing') return mediaInstructionIn(prompt)
  return ['image', 'video', 'image-slow', 'video-slow'].includes(model) ? {} : undefined
}

const running = (state: 'queuing' | 'generating', progress: number): JobState => ({
  kind: 'running',
  state,
  progress: Math.max(0, Math.min(1, progress)),
  nextPollMs: POLL_AGAIN_MS,
})

const refused = (status: number | undefined, message: string): Submitted => ({
  kind: 'refused',
  status,
  message,
  retryable: status === undefined,
})
