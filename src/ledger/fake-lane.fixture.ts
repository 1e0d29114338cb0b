import { microcredits } from '../kernel/money.ts'
import { type Lane, LaneLost } from './lane.ts'
import type { Applied, Operation } from './operations.ts'

/** What the next flush of a fake lane meets. */
export type Fate = 'applied' | 'lost before' | 'lost after'

/** A lane in memory that keeps holds by id, for tests of what happens when the real one fails. */
export interface FakeLane extends Lane {
  /** What the next flushes meet, in order; afterwards all are applied. */
  readonly fates: Fate[]
  /** Holds whose operations fail, whatever stands beside them. */
  readonly poison: Set<bigint>
  /** What is true of each hold. */
  readonly holds: Map<bigint, string>
  /** How often a hold came to be, or ended: never more than once each. */
  readonly made: Map<string, number>
  /** Every flush that was sent, as hold ids. */
  readonly flushes: bigint[][]
  /** While set, flushes wait for it before anything happens to them. */
  gate: Promise<void> | undefined
}

/** A lane over a map in memory whose connection and commits break where a test says so. */
export function createFakeLane(): FakeLane {
  const holds = new Map<bigint, string>()
  const made = new Map<string, number>()
  const count = (what: string) => made.set(what, (made.get(what) ?? 0) + 1)

  function applyOne(operation: Operation): Applied {
    const { holdId } = operation
    const before = holds.get(holdId)
    const answer = (status: Applied['status']): Applied => ({
      status,
      amountMicro: 1n,
      availableMicro: 1n,
      detail: undefined,
    })
    if (operation.operation === 'reserve') {
      if (before === undefined) {
        holds.set(holdId, 'reserved')
        count(`reserve ${holdId}`)
      }
      return answer('reserved')
    }
    if (before === undefined) return answer('hold_not_found')
    if (before !== 'reserved') return answer(before === 'captured' || before === 'voided' ? before : 'already_resolved')
    const after =
      operation.operation === 'capture' ? 'captured' : operation.operation === 'void' ? 'voided' : 'usage_unknown'
    holds.set(holdId, after)
    count(`end ${holdId}`)
    return answer(after)
  }

  const lane: FakeLane = {
    fates: [],
    poison: new Set(),
    holds,
    made,
    flushes: [],
    gate: undefined,
    async apply(operations) {
      lane.flushes.push(operations.map((operation) => operation.holdId))
      await lane.gate
      const fate = lane.fates.shift() ?? 'applied'
      if (fate === 'lost before') throw new LaneLost('lost before the commit')
      if (operations.some((operation) => lane.poison.has(operation.holdId)))
        throw Object.assign(new Error('poisoned'), { code: '22003' })
      const answers = operations.map(applyOne)
      if (fate === 'lost after') throw new LaneLost('lost after the commit')
      return answers
    },
    async close() {},
  }
  return lane
}

/** A reserve of one microcredit under this id. */
export const reserveOf = (holdId: bigint): Operation => ({
  operation: 'reserve',
  holdId,
  requestId: `request ${holdId}`,
  actorAccountId: 1n,
  credential: { kind: 'operator', id: 1n },
  wantedMicro: microcredits(1n),
  minimumMicro: microcredits(1n),
  category: 'model',
  subject: 'test',
  detail: null,
})

/** A capture of one microcredit of this hold. */
export const captureOf = (holdId: bigint): Operation => ({
  operation: 'capture',
  holdId,
  actualMicro: microcredits(1n),
  outcome: 'success',
  usage: null,
})
