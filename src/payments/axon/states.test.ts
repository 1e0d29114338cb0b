import { expect, test } from 'vitest'
import { catalogue } from '../../kernel/errors.ts'
import { advance, type Event, isMove, stepOf } from './states.ts'

const statuses = ['pending', 'confirming', 'completed', 'review_required', 'failed', 'closed'] as const
const operators = ['operator_propose', 'operator_credit', 'operator_refund', 'operator_dismiss'] as const
const events: readonly Event[] = [
  'see',
  'lose',
  'settle',
  'suspect',
  'refuse',
  'give_up',
  'arrive',
  'vanish',
  'undo',
  'restore',
  'finalize',
  ...operators,
]

/** Every cell of the table that is a move. */
const moves = events.flatMap((event) =>
  statuses.flatMap((from) => {
    const to = stepOf(from, event)
    return isMove(to) ? [{ event, from, to }] : []
  }),
)

test('every cell is a status, a refusal or stale', () => {
  for (const event of events)
    for (const from of statuses)
      expect([...statuses, ...Object.keys(catalogue), 'stale'], `${event} of ${from}`).toContain(stepOf(from, event))
})

test('only settling, restoring and an operator complete a claim, and what is completed is left by a reorganisation alone', () => {
  const completing = moves.filter(({ from, to }) => to === 'completed' && from !== 'completed')
  expect([...new Set(completing.map(({ event }) => event))].sort()).toEqual(['operator_credit', 'restore', 'settle'])
  expect(moves.filter(({ from, to }) => from === 'completed' && to !== from)).toEqual([
    { event: 'undo', from: 'completed', to: 'review_required' },
  ])
})

test('what an operator closed stays closed, and a review ends by an operator or by the payment that is back', () => {
  expect(moves.filter(({ from, to }) => from === 'closed' && to !== from)).toEqual([])
  const ending = moves.filter(({ from, to }) => from === 'review_required' && to !== from)
  expect(ending.map(({ event }) => event).sort()).toEqual([
    'operator_credit',
    'operator_dismiss',
    'operator_refund',
    'restore',
  ])
})

test('an operator is refused by name where there is nothing to decide', () => {
  for (const event of operators)
    for (const [status, code] of [
      ['pending', 'order_not_in_review'],
      ['completed', 'order_completed'],
      ['closed', 'order_not_in_review'],
    ] as const)
      expect(() => advance(status, event)).toThrow(expect.objectContaining({ code }))
})
