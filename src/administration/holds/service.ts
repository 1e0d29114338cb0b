import type { Database, Tx } from '../../db/database.ts'
import { operatorName, recordAction } from '../../identity/audit-log/service.ts'
import { assert } from '../../kernel/assert.ts'
import { Fault } from '../../kernel/errors.ts'
import { inCredits, type Microcredits, ZERO } from '../../kernel/money.ts'
import { endHold } from '../../ledger/hold-end.ts'
import type { Applied, Outcome } from '../../ledger/operations.ts'
import { ledgerTransaction } from '../../ledger/transaction.ts'
import type { By } from '../by.ts'
import * as store from './store.ts'

/** A page of the holds that wait, longest first. */
export async function waitingHolds(
  db: Database,
  wanted: store.Waiting,
): Promise<{ readonly holds: readonly store.HoldRow[]; readonly hasMore: boolean }> {
  const found = await store.waiting(db, { ...wanted, limit: wanted.limit + 1 })
  return { holds: found.slice(0, wanted.limit), hasMore: found.length > wanted.limit }
}

/** A hold, by its id, which is the call id, or by the request id that the client has. Refuses with `hold_not_found`. */
export async function findHold(db: Database | Tx, named: string): Promise<store.HoldRow> {
  const hold = await store.find(db, /^\d+$/.test(named) ? { id: BigInt(named) } : { requestId: named })
  if (hold === undefined) throw new Fault('hold_not_found', { message: `There is no hold ${named}.` })
  return hold
}

/** In one word: how it ended, why it waits, or that its call runs. */
export const stateOf = (hold: store.HoldRow) => hold.resolution ?? hold.flag ?? 'running'

/** How an operator says that a call of unknown cost ended. */
export interface HoldEnd {
  /** What it cost; without it nothing is charged. */
  readonly actualMicro?: Microcredits | undefined
  /** How it ended for the client: one that failed may be refunded. */
  readonly outcome: Outcome
  /** Charge it even though it is more than was held. */
  readonly aboveHold?: boolean | undefined
}

/** What became of a hold. */
export interface Resolved {
  readonly hold: store.HoldRow
  /** `shortfall`: nothing was charged, and it waits for its payers, because the account cannot pay what is above the hold. */
  readonly state: 'captured' | 'voided' | 'shortfall'
  readonly chargedMicro: bigint
  readonly returnedMicro: bigint
  /** What the account can spend now; undefined where nothing was changed. */
  readonly availableMicro: bigint | undefined
  /** False where it had ended in the same way before. */
  readonly changed: boolean
}

/**
 * Ends a hold of unknown cost: the one way there is, and the ledger's own. Whoever else wants to end it, its call or
 * another operator, waits for the family's lock and finds it ended. Refuses with `hold_not_found`, `hold_not_resolvable`
 * and `amount_above_hold`.
 */
export async function resolveHold(db: Database, named: string, end: HoldEnd, by: By): Promise<Resolved> {
  const { id } = await findHold(db, named)
  return ledgerTransaction(db, async (tx) => {
    await store.lockFamily(tx, id)
    const hold = await findHold(tx, String(id))
    if (endedAlike(hold, end))
      return {
        hold,
        state: hold.resolution === 'voided' ? 'voided' : 'captured',
        chargedMicro: hold.resolved_micro ?? 0n,
        returnedMicro: 0n,
        availableMicro: undefined,
        changed: false,
      }
    refuseUnlessUnknown(hold)
    refuseSlipAboveHold(hold, end)
    const applied = await apply(tx, hold, end, by)
    const { status } = applied
    assert(
      status === 'captured' || status === 'voided' || status === 'shortfall',
      `hold ${id} cannot be ${status} under its family's lock`,
    )
    const charged = status === 'shortfall' ? ZERO : (end.actualMicro ?? ZERO)
    await record(tx, hold, { status, charged }, by)
    return {
      hold,
      state: status,
      chargedMicro: charged,
      returnedMicro: status !== 'shortfall' && charged < hold.reserve_micro ? hold.reserve_micro - charged : 0n,
      availableMicro: applied.availableMicro ?? 0n,
      changed: true,
    }
  })
}

/** A repeat, for instance after a lost connection, is no mistake. */
const endedAlike = (hold: store.HoldRow, { actualMicro }: HoldEnd): boolean =>
  actualMicro === undefined
    ? hold.resolution === 'voided'
    : hold.resolution === 'captured' && hold.resolved_micro === actualMicro

/** Only an end that nobody else can give is given here. */
function refuseUnlessUnknown(hold: store.HoldRow): void {
  const refuse = (message: string): never => {
    throw new Fault('hold_not_resolvable', { message })
  }
  if (hold.resolution !== null)
    refuse(
      `Hold ${hold.id} is ${hold.resolution} already (${inCredits(hold.resolved_micro ?? 0n)} Credits charged); nothing was changed.`,
    )
  if (hold.flag === null)
    refuse(
      `Hold ${hold.id} belongs to a call that runs; nothing was changed. Its server will end it, or flag it when it cannot.`,
    )
  if (hold.flag === 'shortfall')
    refuse(
      `Hold ${hold.id} is a shortfall: its cost is known (${inCredits(hold.actual_micro ?? 0n)} Credits) and more than its payers had. It cannot be resolved here: the rest is its payers' to agree to.`,
    )
}

/** More than was held is taken from the caller unasked, or waits for ever: a digit too many must not do that. */
function refuseSlipAboveHold(hold: store.HoldRow, { actualMicro, aboveHold }: HoldEnd): void {
  if (actualMicro === undefined || actualMicro <= hold.reserve_micro || aboveHold) return
  throw new Fault('amount_above_hold', {
    message: `${inCredits(actualMicro)} Credits is more than the ${inCredits(hold.reserve_micro)} held; nothing was changed. If the call did cost that much, say so.`,
  })
}

function apply(tx: Tx, hold: store.HoldRow, { actualMicro, outcome }: HoldEnd, by: By): Promise<Applied> {
  const decided = { holdId: hold.id, resolvedBy: operatorName(by.operator), reason: by.reason }
  return actualMicro === undefined
    ? endHold(tx, { operation: 'void', outcome: 'failed', ...decided })
    : endHold(tx, { operation: 'capture', actualMicro, outcome, usage: null, ...decided })
}

/** The audit log's row, last in its transaction. */
function record(
  tx: Tx,
  hold: store.HoldRow,
  { status, charged }: { status: string; charged: bigint },
  by: By,
): Promise<void> {
  return recordAction(tx, {
    actor: by.operator,
    action: 'resolve.hold',
    targetId: hold.id,
    before: { flag: hold.flag, reserve_micro: hold.reserve_micro },
    after: { charged_micro: charged, status },
    reason: by.reason,
    requestId: by.requestId,
  })
}
