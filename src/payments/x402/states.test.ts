import { expect, test } from 'vitest'
import type { X402Status } from '../../db/schema.ts'
import { type Event, stepOf } from './states.ts'

const statuses: readonly X402Status[] = ['awaiting_settlement', 'pending', 'credited', 'review_required', 'failed']
const events: readonly Event[] = ['broadcast', 'credit', 'expire', 'doubt', 'reorganise', 'operator_dismiss']

test('no event takes a payment to failed that money may have moved for, and nothing leaves failed', () => {
  for (const event of events) {
    expect(stepOf('failed', event)).toBe('stale')
    if (event !== 'expire' && event !== 'operator_dismiss')
      expect(statuses.map((status) => stepOf(status, event))).not.toContain('failed')
  }
  expect([stepOf('credited', 'expire'), stepOf('review_required', 'expire')]).toEqual(['stale', 'stale'])
})

test('only what the chain shows leads to credited, and only a reorganisation leads out of it', () => {
  for (const event of events) {
    if (event !== 'credit') expect(statuses.map((status) => stepOf(status, event))).not.toContain('credited')
    expect(stepOf('credited', event)).toBe(event === 'reorganise' ? 'review_required' : 'stale')
  }
})
