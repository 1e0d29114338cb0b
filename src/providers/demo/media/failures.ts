import type { JobState, Submitted } from '../../media.ts'

/** How the model `failing` behaves for a prompt: at the submission, or later as the state of its job. */
export interface MediaInstruction {
  /** What the submission ends with; undefined: a job is made. */
  readonly submitted?: Exclude<Submitted, { kind: 'accepted' }>
  /** Whether a lost submission made a job all the same. */
  readonly findable?: boolean
  /** Where the job ends up; undefined: where every job does. */
  readonly state?: JobState
  /** Files that are none. */
  readonly garbage?: boolean
}

/**
 * Reads from a prompt: `fail:<status>` (400 to 599) and `fail:refused` refuse the submission, `fail:lost` loses it
 * after a job was made and `fail:gone` before, `fail:timeout` never ends, `fail:failed` fails without a charge,
 * `fail:billed` with one, `fail:unknown` without a word about it, `fail:unreachable` stops answering, `fail:missing`
 * forgets the job and `fail:garbage` delivers files that are no pictures. Any other prompt works.
 */
export function mediaInstructionIn(prompt: string): MediaInstruction {
  const word = /\bfail:([a-z]+|[45]\d\d)\b/.exec(prompt)?.[1] ?? ''
  if (/^[45]\d\d$/.test(word)) return { submitted: refusal(Number(word)) }
  return instructions[word] ?? {}
}

function refusal(status: number | undefined): Exclude<Submitted, { kind: 'accepted' }> {
  return {
    kind: 'refused',
    status,
    message:
      status === undefined
        ? 'The demo provider could not be reached, as asked.'
        : `The demo provider answered ${status}, as asked.`,
    retryable: status === undefined || status >= 500 || [408, 409, 429].includes(status),
    ...(status === 429 ? { retryAfterMs: 1000 } : {}),
  }
}

const failed = (billed: boolean | undefined): JobState => ({
  kind: 'failed',
  code: 'demo_failed',
  message: 'The demo provider failed, as asked.',
  billed,
})

const lost = { kind: 'lost', message: 'The demo provider broke the submission off, as asked.' } as const

const instructions: Readonly<Record<string, MediaInstruction>> = {
  refused: { submitted: refusal(undefined) },
  lost: { submitted: lost, findable: true },
  gone: { submitted: lost },
  timeout: { state: { kind: 'running', state: 'generating', progress: undefined, nextPollMs: undefined } },
  failed: { state: failed(false) },
  billed: { state: failed(true) },
  unknown: { state: failed(undefined) },
  unreachable: { state: { kind: 'unreachable', message: 'The demo provider does not answer, as asked.' } },
  missing: { state: { kind: 'missing' } },
  garbage: { garbage: true },
}
