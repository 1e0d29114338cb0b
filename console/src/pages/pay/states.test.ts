import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Local, type Told, viewOf } from './states.ts'

const at = (minutes: number) => new Date(Date.UTC(2030, 0, 1, 0, minutes)).toISOString()
const told = fc.record({
  status: fc.constantFrom<Told['status']>('pending', 'confirming', 'completed', 'expired', 'review_required'),
  tx_hash: fc.constantFrom('', `0x${'1'.repeat(64)}`),
  block_number: fc.constantFrom(null, 7),
  expires_at: fc.constantFrom(at(10), at(30)),
  server_time: fc.constantFrom(at(10), at(20)),
})
const local = fc.constantFrom<Local>('idle', 'reserving', 'wallet-open', 'declined', 'unknown')

test('Pay is offered only for an order that the server calls pending and unexpired, and never while an attempt may exist', () => {
  fc.assert(
    fc.property(told, local, (order, mine) => {
      if (viewOf(order, mine) !== 'payable') return
      expect(order.status).toBe('pending')
      expect(order.expires_at > order.server_time).toBe(true)
      expect(['idle', 'declined']).toContain(mine)
    }),
  )
})

test('what the server calls completed or under review is shown so, whatever this tab remembers', () => {
  fc.assert(
    fc.property(told, local, (order, mine) => {
      if (order.status === 'completed') expect(viewOf(order, mine)).toBe('completed')
      if (order.status === 'review_required') expect(viewOf(order, mine)).toBe('review')
    }),
  )
})
