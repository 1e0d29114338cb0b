import type { X402Status } from '../../db/schema.ts'

/** What can happen to a payment after it was stored. The chain says so; an operator only decides what it left in doubt. */
export type Event =
  | 'broadcast'
  | 'credit'
  | 'expire'
  | 'doubt'
  | 'reorganise'
  | 'operator_propose'
  | 'operator_credit'
  | 'operator_refund'
  | 'operator_dismiss'

/** The status after an event, or `stale`: the news is overtaken and nothing moves. */
type Step = X402Status | 'stale'

type Row = Readonly<Record<X402Status, Step>>
const on = (awaiting_settlement: Step, pending: Step, credited: Step, review_required: Step, failed: Step): Row => ({
  awaiting_settlement,
  pending,
  credited,
  review_required,
  failed,
})

/** Every move of a payment (spec 3.2). No cell is undecided. */
// biome-ignore format: a table is read by its columns.
const table: Readonly<Record<Event, Row>> = {
  //              awaiting_settlement  pending            credited           review_required  failed
  // its transaction may be on its way
  broadcast:  on('pending',           'pending',         'stale',           'stale',         'stale'),
  // the paired transfer is deep enough on every node; one that a reorganisation took away is back
  credit:     on('credited',          'credited',        'stale',           'credited',      'stale'),
  // a confirmed block is past its time and it was not used: it never lands, and paying again is safe
  expire:     on('failed',            'failed',          'stale',           'stale',         'stale'),
  // its nonce was spent in another way, another purchase has its transfer, or the chain stands still
  doubt:      on('review_required',   'review_required', 'stale',           'stale',         'stale'),
  // the transfer that was credited is in the chain no more
  reorganise: on('stale',             'stale',           'review_required', 'stale',         'stale'),
  // a decision above what one operator may decide: it waits for the second
  operator_propose: on('stale',       'stale',           'stale',           'review_required', 'stale'),
  // what arrived is credited for all that; or Credits that were given stay, whatever became of their block
  operator_credit:  on('stale',       'stale',           'stale',           'credited',      'stale'),
  // what arrived was sent back
  operator_refund:  on('stale',       'stale',           'stale',           'failed',        'stale'),
  // nothing is owed
  operator_dismiss: on('stale',       'stale',           'stale',           'failed',        'stale'),
}

/** Where an event takes a payment; `stale` when it takes it nowhere. */
export function stepOf(status: X402Status, event: Event): Step {
  return table[event][status]
}

/** Why a payment needs an operator. */
export type ReviewReason =
  | 'used_with_other_terms'
  | 'canceled_after_broadcast'
  | 'credited_elsewhere'
  | 'decided_by_operator'
  | 'unsettled_for_a_day'
  | 'reorganised_after_credit'
