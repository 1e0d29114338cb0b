import { heldCall } from '../../../billing/calls/lifecycle.ts'
import type { TaskDeps } from '../deps.ts'
import type { Asked, Begun, Place, Standing, TaskRunner } from '../runner.ts'
import { isFinal, table } from '../states.ts'
import { lock, type TaskRow } from '../store.ts'
import { conclude, endOf, evidenceOf, settle } from './ending.ts'
import type { AttemptRow, Claimed } from './store.ts'
import * as store from './store.ts'
import { sweepUnheld } from './unheld.ts'

/** A task with the attempt that may exist at a place, and the runner that knows the place. */
export interface Underway {
  readonly task: TaskRow
  readonly attempt: AttemptRow
  readonly runner: TaskRunner
  readonly now: Date
}

/** Milliseconds until a task is due again; its end needs none. */
export type DueInMs = number

/** How often all places are gone through, when each refuses for now. */
const ROUNDS_MAX = 3
/** Until the next round, where no place says how long: doubled each time. */
const ROUND_PAUSE_MS = 5_000
const SOON_MS = 1_000
const NOTE_TRIES = 10
const NOTE_PAUSE_MS = 1_000
const POLL_MS_MIN = 100
const POLL_MS_MAX = 60_000

/** Does the next thing for a task that this process holds the lease of: one row of the table in docs/media.md. */
export async function step(deps: TaskDeps, { task, attempt, now }: Claimed): Promise<DueInMs> {
  if (!task.held) return sweepUnheld(deps, task, now)
  if (task.end_state !== null) {
    await settle(deps, task)
    return 0
  }
  const runner = deps.runners[task.runner]
  if (!runner) return withoutRunner(deps, task, attempt)
  if (!attempt || attempt.state === 'refused') return dispatch(deps, runner, { task, last: attempt, now })
  if (attempt.state === 'accepted') return follow(deps, { task, attempt, runner, now })
  return recover(deps, { task, attempt, runner, now })
}

/** Asks the next place: the intent is durable before the place is asked, so it is asked once whatever happens. */
async function dispatch(
  deps: TaskDeps,
  runner: TaskRunner,
  { task, last, now }: { task: TaskRow; last: AttemptRow | undefined; now: Date },
): Promise<DueInMs> {
  const places = runner.places(task)
  const n = last ? last.n + 1 : 0
  const place = places[n % Math.max(1, places.length)]
  if (!place || isRefusedForGood(last, places.length)) {
    await refusedByAll(deps, task, last)
    return 0
  }
  const begunMs = deps.clock.monotonicMs()
  const attempt = await deps.db.transaction().execute(async (tx) => {
    const current = await lock(tx, task.id)
    const newest = await store.newestAttempt(tx, task.id)
    const isOurs = current?.lease_process === deps.processId && (newest?.n ?? -1) === n - 1
    if (!current || !isOurs || current.end_state !== null) return undefined
    const to = table.dispatch[current.state]
    if (to !== 'queuing') return undefined
    await store.show(tx, task.id, { state: to })
    return store.intend(tx, { id: deps.random.uuid(), taskId: task.id, n, place })
  })
  if (!attempt) return SOON_MS
  deps.waiting.moved(task.id)
  const uploads = await store.uploads(deps.db, task.id)
  const underway = { task, attempt, runner, now }
  // this process stood still for so long that another may have gone on already
  if (deps.clock.monotonicMs() - begunMs > deps.pace.leaseMs / 2)
    return begun(deps, underway, { kind: 'refused', status: undefined, message: 'not sent in time', retryable: true })
  const work = {
    ...asked(task, attempt),
    request: task.request as Record<string, unknown>,
    uploads,
    callbackUrl: deps.callbacks.urlOf(attempt.id),
    signal: deps.ending,
  }
  const answer = await runner.submit(work).catch((error: unknown): Begun => {
    deps.onTrouble('a task runner failed while it submitted', error)
    return { kind: 'lost', message: 'the runner failed' }
  })
  return noted(deps, () => begun(deps, underway, answer))
}

/** What a submission was answered is known here and nowhere else: a database that is away for a moment must not lose it. */
async function noted(deps: TaskDeps, note: () => Promise<DueInMs>): Promise<DueInMs> {
  for (let left = NOTE_TRIES; ; left--) {
    try {
      return await note()
    } catch (error) {
      if (left <= 1) throw error
      deps.onTrouble('what a provider answered cannot be written down; it is tried again', error)
      await new Promise((resolve) => setTimeout(resolve, NOTE_PAUSE_MS))
    }
  }
}

/** What an attempt is known by at its place. */
export const asked = (task: TaskRow, attempt: AttemptRow): Asked => ({
  taskId: task.id,
  accountId: task.account_id,
  type: task.type,
  model: task.model,
  attemptId: attempt.id,
  place: { provider: attempt.provider, model: attempt.model } satisfies Place,
})

const isCallersFault = (status: number | null): boolean =>
  status !== null && status >= 400 && status < 500 && ![401, 402, 403, 404, 408, 409, 425, 429].includes(status)

function isRefusedForGood(last: AttemptRow | undefined, places: number): boolean {
  if (!last) return false
  if (isCallersFault(last.status)) return true
  const n = last.n + 1
  return n >= places * ROUNDS_MAX || (n % places === 0 && last.retryable === false)
}

async function refusedByAll(deps: TaskDeps, task: TaskRow, last: AttemptRow | undefined): Promise<void> {
  const error =
    last && isCallersFault(last.status)
      ? { code: 'upstream_refused', message: `The provider refused the request: ${last.message ?? ''}` }
      : { code: 'upstream_failed', message: `No provider took the work: ${last?.message ?? 'none is configured'}` }
  await conclude(deps, task.id, () => ({ event: 'fail', end: { state: 'fail', actualMicro: 0n, error } }))
}

/** Notes how a submission went. */
async function begun(deps: TaskDeps, underway: Underway, answer: Begun): Promise<DueInMs> {
  const { task, attempt, runner } = underway
  switch (answer.kind) {
    case 'refused': {
      await store.moveAttempt(deps.db, attempt.id, ['intended', 'lost'], {
        state: 'refused',
        ended: true,
        message: answer.message,
        status: answer.status ?? null,
        retryable: answer.retryable,
        retry_after_ms: answer.retryAfterMs ?? null,
      })
      const round = (attempt.n + 1) / Math.max(1, runner.places(task).length)
      const isLastOfRound = Number.isInteger(round) && answer.retryable && round < ROUNDS_MAX
      return isLastOfRound ? (answer.retryAfterMs ?? ROUND_PAUSE_MS * 2 ** (round - 1)) : 0
    }
    case 'lost':
      // where it can be looked for it may still be found
      if (!runner.canFind(asked(task, attempt))) return lost(deps, underway, answer.message)
      await store.moveAttempt(deps.db, attempt.id, ['intended'], { message: answer.message })
      return SOON_MS
    case 'accepted':
      await store.moveAttempt(deps.db, attempt.id, ['intended', 'lost'], {
        state: 'accepted',
        provider_job_id: answer.providerJobId,
        provider_memo: answer.memo ?? null,
      })
      return pollIn(deps, answer.nextPollMs)
    default:
      await conclude(deps, task.id, (current) => endOf(current, answer), attempt.id)
      return 0
  }
}

/** The submission may or may not have begun the work, and nobody can be asked: what it costs is unknown, which is not nothing. */
async function lost(deps: TaskDeps, underway: Underway, reason: string): Promise<DueInMs> {
  const { attempt } = underway
  await markUnknown(deps, underway, `the submission to ${attempt.provider} was lost: ${reason}`)
  await store.moveAttempt(deps.db, attempt.id, ['intended'], { state: 'lost', message: reason })
  return deps.pace.latePollMs
}

async function markUnknown(
  deps: TaskDeps,
  { task, attempt }: Pick<Underway, 'task' | 'attempt'>,
  reason: string,
): Promise<void> {
  if (task.unknown_at !== null) return
  await heldCall(deps.ledger, task.hold_id).unknown(reason, evidenceOf(task, attempt))
  await store.show(deps.db, task.id, { unknown: true })
  deps.waiting.moved(task.id)
}

/** Looks for the work of a submission whose answer nobody saw. */
async function recover(deps: TaskDeps, underway: Underway): Promise<DueInMs> {
  const { task, attempt, runner, now } = underway
  if (!runner.canFind(asked(task, attempt))) {
    if (attempt.state === 'intended') return lost(deps, underway, 'the server ended before the answer came')
    return (await outOfPatience(deps, underway)) ?? deps.pace.latePollMs
  }
  const found = await runner.find(asked(task, attempt)).catch(() => ({ kind: 'unreachable' }) as const)
  if (found.kind === 'unreachable') return (await outOfPatience(deps, underway)) ?? deps.pace.pollMs
  if (found.kind !== 'missing') return begun(deps, underway, found)
  const age = now.getTime() - attempt.submitted_at.getTime()
  if (age < deps.pace.missingAfterMs) return deps.pace.pollMs
  // it never came there, so asking once more is not asking twice
  await store.moveAttempt(deps.db, attempt.id, ['intended', 'lost'], {
    state: 'refused',
    ended: true,
    message: 'the submission never arrived',
    retryable: true,
  })
  return 0
}

/** Asks how accepted work stands. */
async function follow(deps: TaskDeps, underway: Underway): Promise<DueInMs> {
  const { task, attempt, runner } = underway
  const job = { providerJobId: attempt.provider_job_id ?? '', memo: attempt.provider_memo ?? undefined }
  if (task.cancel_requested_at !== null && attempt.cancel_asked_at === null) {
    await runner
      .cancel(asked(task, attempt), job)
      ?.catch((error: unknown) => deps.onTrouble('a provider could not be asked to stop', error))
    await store.noteCancelAsked(deps.db, attempt.id)
  }
  const standing = await runner.poll(asked(task, attempt), job, deps.ending).catch((error: unknown): Standing => {
    deps.onTrouble('a task runner failed while it asked', error)
    return { kind: 'unreachable', message: 'the runner failed' }
  })
  return stand(deps, underway, standing)
}

/** Notes how work stands, by a poll or by a callback. */
export async function stand(deps: TaskDeps, underway: Underway, standing: Standing): Promise<DueInMs> {
  const { task, attempt } = underway
  switch (standing.kind) {
    case 'running': {
      const state = table[standing.state === 'generating' ? 'generate' : 'queue'][task.state]
      const progress = Math.max(task.progress, Math.min(99, Math.floor((standing.progress ?? 0) * 100)))
      if (state !== 'stale' && !isFinal(state) && (state !== task.state || progress !== task.progress)) {
        await store.show(deps.db, task.id, { state, progress })
        deps.waiting.moved(task.id)
      }
      return (await outOfPatience(deps, underway)) ?? pollIn(deps, standing.nextPollMs)
    }
    case 'unreachable':
      return (await outOfPatience(deps, underway)) ?? deps.pace.pollMs
    case 'missing':
      await markUnknown(deps, underway, `${attempt.provider} knows no more of the work that it had accepted`)
      return (await outOfPatience(deps, { ...underway, task })) ?? deps.pace.latePollMs
    default:
      await conclude(deps, task.id, (current) => endOf(current, standing), attempt.id)
      return 0
  }
}

/**
 * What becomes of work that takes too long; undefined while it does not. Past the model's timeout its money is
 * unknown and it is asked more rarely; a late end still counts. A day later, or when the operator has ended the
 * hold, the task fails and says that its outcome is unknown.
 */
async function outOfPatience(deps: TaskDeps, { task, attempt, now }: Underway): Promise<DueInMs | undefined> {
  if (task.unknown_at === null) {
    if (now.getTime() - attempt.submitted_at.getTime() <= task.timeout_ms) return undefined
    await markUnknown(
      deps,
      { task, attempt },
      `${attempt.provider} did not finish in ${task.timeout_ms / 1000} seconds`,
    )
    return deps.pace.latePollMs
  }
  const isDecided = (await store.holdStanding(deps.db, task.hold_id)) === 'ended'
  if (!isDecided && now.getTime() - task.unknown_at.getTime() <= deps.pace.giveUpMs) return deps.pace.latePollMs
  const message = isDecided
    ? 'The outcome of this task is unknown; the operator has decided what is charged for it.'
    : 'The provider never told the end of this task. Its cost stays unknown until the operator resolves it.'
  await conclude(
    deps,
    task.id,
    // the money that the operator has moved is not moved again
    () => ({
      event: 'give_up',
      end: {
        state: 'fail',
        actualMicro: isDecided ? 0n : undefined,
        error: { code: 'outcome_unknown', message },
      },
    }),
    attempt.id,
  )
  return 0
}

const pollIn = (deps: TaskDeps, ms: number | undefined): DueInMs =>
  Math.min(POLL_MS_MAX, Math.max(POLL_MS_MIN, ms ?? deps.pace.pollMs))

/** The configuration knows no such runner any more: what was never begun fails, the rest waits for an operator. */
async function withoutRunner(deps: TaskDeps, task: TaskRow, attempt: AttemptRow | undefined): Promise<DueInMs> {
  if (attempt && attempt.state !== 'refused') {
    await markUnknown(deps, { task, attempt }, `nobody here does the work of ${task.runner} any more`)
    return deps.pace.latePollMs
  }
  await refusedByAll(deps, task, attempt)
  return 0
}
