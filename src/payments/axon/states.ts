import type { AxonClaimStatus } from '../../db/schema.ts'
import { assert } from '../../kernel/assert.ts'
import { catalogue, type ErrorCode, Fault } from '../../kernel/errors.ts'

/** What can happen to a claimed hash: shown by the chain, told by its clock, decided by an operator. */
export type Event =
  | 'see'
  | 'lose'
  | 'settle'
  | 'suspect'
  | 'refuse'
  | 'give_up'
  | 'arrive'
  | 'vanish'
  | 'undo'
  | 'restore'
  | 'finalize'
  | 'operator_propose'
  | 'operator_credit'
  | 'operator_refund'
  | 'operator_dismiss'

/** The status after an event, the refusal that its sender gets, or `stale`: the news is overtaken and nothing moves. */
export type Step = AxonClaimStatus | ErrorCode | 'stale'

type Row = Readonly<Record<AxonClaimStatus, Step>>
const on = (
  pending: Step,
  confirming: Step,
  completed: Step,
  review_required: Step,
  failed: Step,
  closed: Step,
): Row => ({ pending, confirming, completed, review_required, failed, closed })

/**
 * Every move of a claim (decisions 4). No cell is undecided. `failed` is what the chain shows now, not a verdict for
 * ever: who links the paying wallet later, or whose transaction is found after all, is credited. `closed` is an
 * operator's word and final. Credits are given by `settle` and `operator_credit` alone, and by no other move.
 */
// biome-ignore format: a table is read by its columns.
const table: Readonly<Record<Event, Row>> = {
  //                    pending                confirming             completed           review_required    failed             closed
  // in a block of every node, not deep enough yet
  see:              on('confirming',          'confirming',          'stale',            'stale',           'confirming',      'stale'),
  // in no block any more, on any node
  lose:             on('stale',               'pending',             'stale',            'stale',           'stale',           'stale'),
  // deep enough, and every check held on every node just now
  settle:           on('completed',           'completed',           'stale',            'stale',           'completed',       'stale'),
  // value arrived that cannot be credited by itself
  suspect:          on('review_required',     'review_required',     'stale',            'stale',           'review_required', 'stale'),
  // it is no payment of this account; again when the reason is another one
  refuse:           on('failed',              'failed',              'stale',            'stale',           'failed',          'stale'),
  // no node has known it for a day, by the time of the chain
  give_up:          on('failed',              'stale',               'stale',            'stale',           'stale',           'stale'),
  // the value of a claim that is not credited by itself is deep enough, or gone again
  arrive:           on('stale',               'stale',               'stale',            'review_required', 'failed',          'stale'),
  vanish:           on('stale',               'stale',               'stale',            'review_required', 'failed',          'stale'),
  // a reorganisation took a credited transaction away, or brought it back
  undo:             on('stale',               'stale',               'review_required',  'stale',           'stale',           'stale'),
  restore:          on('stale',               'stale',               'stale',            'completed',       'stale',           'stale'),
  // in another block than before, or out of reach of any reorganisation
  finalize:         on('stale',               'stale',               'completed',        'review_required', 'failed',          'closed'),
  operator_propose: on('order_not_in_review', 'order_not_in_review', 'order_completed',  'review_required', 'failed',          'order_not_in_review'),
  operator_credit:  on('order_not_in_review', 'order_not_in_review', 'order_completed',  'completed',       'completed',       'order_not_in_review'),
  operator_refund:  on('order_not_in_review', 'order_not_in_review', 'order_completed',  'closed',          'closed',          'order_not_in_review'),
  operator_dismiss: on('order_not_in_review', 'order_not_in_review', 'order_completed',  'closed',          'closed',          'order_not_in_review'),
}

/** What `event` does to a claim. For events that may be overtaken: it throws nothing. */
export function stepOf(status: AxonClaimStatus, event: Event): Step {
  return table[event][status]
}

/** True when a step is a status to move to. */
export function isMove(step: Step): step is AxonClaimStatus {
  return step !== 'stale' && !(step in catalogue)
}

/** Where an operator's decision takes a claim; throws the table's refusal. */
export function advance(status: AxonClaimStatus, event: Event & `operator_${string}`): AxonClaimStatus {
  const step = stepOf(status, event)
  assert(step !== 'stale', `${event} finds a claim that is ${status}`)
  if (isMove(step)) return step
  throw new Fault(step, {
    message:
      step === 'order_completed'
        ? 'Credits were given for this payment. There is nothing to decide.'
        : `This claim is ${status}: there is nothing to decide.`,
  })
}
