import { expect, test } from 'vitest'
import type { X402Status } from '../../db/schema.ts'
import { type Event, stepOf } from './states.ts'

const statuses: readonly X402Status[] = ['awaiting_settlement', 'pending', 'credited', 'review_required', 'failed']
const chain: readonly Event[] = ['broadcast', 'credit', 'expire', 'doubt', 'reorganise']
const operators: readonly Event[] = ['operator_propose', 'operator_credit', 'operator_refund', 'operator_dismiss']
const events = [...chain, ...operators]

test('no event takes a payment to failed that money may have moved for, and nothing leaves failed', () => {
  for (const event of events) {
    expect(stepOf('failed', event)).toBe('stale')
    if (!['expire', 'operator_refund', 'operator_dismiss'].includes(event))
      expect(statuses.map((status) => stepOf(status, event))).not.toContain('failed')
  }
  expect([stepOf('credited', 'expire'), stepOf('review_required', 'expire')]).toEqual(['stale', 'stale'])
})

test('an operator decides about payments in review alone', () => {
  for (const event of operators)
    for (const status of statuses) expect(stepOf(status, event) === 'stale').toBe(status !== 'review_required')
})

test('only the chain or an operator leads to credited, and only a reorganisation leads out of it', () => {
  for (const event of events) {
    if (event !== 'credit' && event !== 'operator_credit')
      expect(statuses.map((status) => stepOf(status, event))).not.toContain('credited')
    expect(stepOf('credited', event)).toBe(event === 'reorganise' ? 'review_required' : 'stale')
  }
})
