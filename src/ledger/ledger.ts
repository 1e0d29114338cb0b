import { AssertionFailed, assert } from '../kernel/assert.ts'
import { Fault } from '../kernel/errors.ts'
import type { Microcredits } from '../kernel/money.ts'
import type { Applier } from './applier.ts'
import type { HoldIds } from './hold-ids.ts'
import type { Capture, MarkUnknown, Reserve, Status, Void } from './operations.ts'

/** A hold that was granted. */
export interface Reserved {
  readonly kind: 'reserved'
  readonly reserveMicro: Microcredits
  /** What the actor could still spend right after. */
  readonly availableMicro: Microcredits
}

/** Why a hold was not granted. `detail` has the numbers: limit, spent, held, required, available. */
export interface Refused {
  readonly kind: Extract<
    Status,
    'insufficient_credits' | 'budget_exceeded' | 'unauthorized' | 'account_banned' | 'account_deactivated'
  >
  readonly availableMicro: Microcredits
  readonly detail: Readonly<Record<string, unknown>>
}

/** How a hold stands after an end was asked for. `other` means that it had ended differently before. */
export interface Ended {
  readonly kind: 'captured' | 'voided' | 'shortfall' | 'usage_unknown' | 'other'
  readonly availableMicro: Microcredits
}

/** The hot path of the money core: holds and their ends, each durable before it is answered. */
export interface Ledger {
  nextHoldId(): Promise<bigint>
  reserve(operation: Omit<Reserve, 'operation'>): Promise<Reserved | Refused>
  /** A capture that the database itself refuses becomes `usage_unknown`: its hold never stays open without a reason. */
  end(operation: Capture | Void | MarkUnknown): Promise<Ended>
  /** No hold of this process that is open, or may yet come to be, has a smaller id. */
  readonly oldestOpenHoldId: bigint
  /** Ids of all holds that this process opened, did not end and did not detach. */
  readonly openHoldIds: Iterable<bigint>
  readonly applier: Applier
}

/** Joins the applier and the id blocks into the port that the rooms above use. */
export function createLedger(applier: Applier, holdIds: HoldIds): Ledger {
  // in rising order, since ids are handed out so: the first is the oldest
  const open = new Set<bigint>()

  async function end(operation: Capture | Void | MarkUnknown): Promise<Ended> {
    const { holdId } = operation
    try {
      const { status, availableMicro } = await applier.submit(operation)
      const kind = ending(holdId, status)
      open.delete(holdId)
      return { kind, availableMicro: (availableMicro ?? 0n) as Microcredits }
    } catch (error) {
      // the caller lost patience, the applier goes on with it
      if (applier.abandoned.has(holdId)) open.delete(holdId)
      if (operation.operation !== 'capture' || error instanceof Fault || error instanceof AssertionFailed) throw error
      // a cost that the database refuses, beyond every bound say, is one that nobody can charge unseen
      return end({ operation: 'unknown', holdId, reason: `its capture of ${operation.actualMicro} was refused` })
    }
  }

  return {
    applier,
    end,
    async nextHoldId() {
      const id = await holdIds.next()
      open.add(id)
      return id
    },
    async reserve(operation) {
      try {
        const { status, amountMicro, availableMicro, detail } = await applier.submit({
          operation: 'reserve',
          ...operation,
        })
        const available = (availableMicro ?? 0n) as Microcredits
        if (status === 'reserved') {
          assert(
            amountMicro !== undefined && amountMicro >= operation.minimumMicro && amountMicro <= operation.wantedMicro,
            `hold ${operation.holdId} is out of its bounds`,
          )
          if (operation.detached === true) open.delete(operation.holdId)
          return { kind: 'reserved', reserveMicro: amountMicro as Microcredits, availableMicro: available }
        }
        open.delete(operation.holdId)
        return { kind: refusal(operation.holdId, status), availableMicro: available, detail: detail ?? {} }
      } catch (error) {
        // whether it was never sent or may still be committed: from here on the applier has it, and releases it
        open.delete(operation.holdId)
        throw error
      }
    },
    get oldestOpenHoldId() {
      const [first] = open
      let oldest = first ?? holdIds.lowest
      for (const holdId of applier.abandoned) if (holdId < oldest) oldest = holdId
      return oldest
    },
    get openHoldIds() {
      return [...open]
    },
  }
}

function ending(holdId: bigint, status: Status): Ended['kind'] {
  switch (status) {
    case 'captured':
    case 'voided':
    case 'shortfall':
    case 'usage_unknown':
      return status
    case 'already_resolved':
      return 'other'
    default:
      assert(false, `hold ${holdId} cannot be ${status}`)
  }
}

function refusal(holdId: bigint, status: Status): Refused['kind'] {
  switch (status) {
    case 'insufficient_credits':
    case 'budget_exceeded':
    case 'unauthorized':
    case 'account_banned':
    case 'account_deactivated':
      return status
    case 'process_ended':
      // others took this process for dead while the database was away; the next sign of life mends it
      throw new Fault('unavailable', { retryAfterMs: 5000 })
    default:
      assert(false, `the reserve of hold ${holdId} cannot be ${status}`)
  }
}
