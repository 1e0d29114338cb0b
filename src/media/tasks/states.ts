import type { TaskState } from '../../db/schema.ts'

/** What can happen to a task: asked by its client, done by a worker, told by a provider, or decided by time. */
export type Event = 'dispatch' | 'queue' | 'generate' | 'cancel' | 'withdraw' | 'succeed' | 'fail' | 'lapse' | 'give_up'

/** The state after an event (the same one when only a fact is added), or `stale`: the news is overtaken and nothing moves. */
export type Step = TaskState | 'stale'

type Row = Readonly<Record<TaskState, Step>>
const on = (waiting: Step, queuing: Step, generating: Step, success: Step, fail: Step, canceled: Step): Row => ({
  waiting,
  queuing,
  generating,
  success,
  fail,
  canceled,
})

/**
 * Every move of a task (spec 3.3, decisions 6). No cell is undecided. What has ended never moves again: of two ends
 * the first counts, whichever process or callback brings it.
 */
// biome-ignore format: a table is read by its columns.
export const table: Readonly<Record<Event, Row>> = {
  //            waiting     queuing       generating    success    fail       canceled
  // a submission is about to be sent to a provider; again after one that was refused
  dispatch: on('queuing',  'queuing',    'stale',      'stale',   'stale',   'stale'),
  // the provider has it in its queue; it never goes back there
  queue:    on('stale',    'queuing',    'generating', 'stale',   'stale',   'stale'),
  generate: on('stale',    'generating', 'generating', 'stale',   'stale',   'stale'),
  // the client wants it no more: before a provider has it that is the end, afterwards a request to the provider
  cancel:   on('canceled', 'queuing',    'generating', 'success', 'fail',    'canceled'),
  // it was wanted no more and nothing was made of it
  withdraw: on('canceled', 'canceled',   'canceled',   'stale',   'stale',   'stale'),
  // also after a cancel that came too late: what was made is delivered and charged
  succeed:  on('stale',    'success',    'success',    'stale',   'stale',   'stale'),
  fail:     on('fail',     'fail',       'fail',       'stale',   'stale',   'stale'),
  // our patience is over while the provider may still finish: its money is unknown, the task is not ended
  lapse:    on('stale',    'queuing',    'generating', 'stale',   'stale',   'stale'),
  // a day later, or when the operator has decided about the money
  give_up:  on('stale',    'fail',       'fail',       'stale',   'stale',   'stale'),
}

/** Whether a task in this state moves no more. */
export const isFinal = (state: TaskState): boolean => state === 'success' || state === 'fail' || state === 'canceled'
