import type { Database } from '../../db/database.ts'
import { recordAction } from '../../identity/audit-log/service.ts'
import { assert } from '../../kernel/assert.ts'
import type { Caller } from '../../kernel/caller.ts'
import { Fault } from '../../kernel/errors.ts'
import { inCredits } from '../../kernel/money.ts'
import { type Authorized, authorizeSettlement } from '../../ledger/settlements.ts'
import { ledgerTransaction } from '../../ledger/transaction.ts'
import * as store from './store.ts'
import { mayAuthorize } from './view.ts'

/** What settlements need from outside. */
export interface SettlementDeps {
  readonly db: Database
  /** What a 402 says about paying, by how many microcredits are missing. */
  readonly paymentHint: (shortfallMicro: bigint) => Readonly<Record<string, unknown>>
}

/** A page of the items that concern the caller, newest first; `next` is 0 at the end. Changes nothing. */
export async function listSettlements(
  deps: SettlementDeps,
  caller: Caller,
  wanted: { all: boolean; beforeId: bigint; limit: number },
): Promise<{ rows: store.SettlementRow[]; next: bigint }> {
  const rows = await store.list(deps.db, caller.accountId, { ...wanted, limit: wanted.limit + 1 })
  const page = rows.slice(0, wanted.limit)
  const oldest = page.at(-1)
  return { rows: page, next: oldest && rows.length > wanted.limit ? oldest.id : 0n }
}

/**
 * Agrees to what a call cost above its hold: each account that paid the hold pays its part of the rest, all of them
 * or none. A repeat gives the item as it is. Refuses with `settlement_not_found`, `owner_account_required`,
 * `usage_unknown`, `insufficient_credits`.
 */
export async function authorize(
  deps: SettlementDeps,
  caller: Caller,
  asked: { settlementRequestId: string; requestId: string },
): Promise<store.SettlementRow> {
  const item = await store.find(deps.db, caller.accountId, asked.settlementRequestId)
  if (!item) throw new Fault('settlement_not_found')
  // who paid a hold never changes, so this needs no lock
  if (!mayAuthorize(item, caller.accountId)) {
    throw new Fault('owner_account_required', {
      message: 'Another account pays for this call, and only that account can authorize it.',
    })
  }
  return ledgerTransaction(deps.db, async (tx) => {
    const answer = await authorizeSettlement(tx, item.hold_id, caller.accountId)
    if (answer.kind === 'usage_unknown') throw new Fault('usage_unknown')
    if (answer.kind === 'insufficient') throw insufficient(deps, caller, answer)
    assert(answer.kind !== 'running', `hold ${item.hold_id} is in the list and has no flag`)
    const settled = await store.find(tx, caller.accountId, asked.settlementRequestId)
    assert(settled, `the item of hold ${item.hold_id} is gone`)
    if (answer.kind === 'authorized') {
      await recordAction(tx, {
        actor: { kind: 'account', id: caller.accountId },
        action: 'authorize.settlement',
        targetId: item.hold_id,
        before: { reserve_micro: Number(settled.reserve_micro) },
        after: { charged_micro: Number(settled.actual_micro) },
        requestId: asked.requestId,
      })
    }
    return settled
  })
}

/** What another payer has is not the caller's to know: of it only its part is said. */
function insufficient(
  deps: SettlementDeps,
  caller: Caller,
  { payerAccountId, requiredMicro, availableMicro }: Extract<Authorized, { kind: 'insufficient' }>,
): Fault {
  const required = { required_micro: String(requiredMicro), payer_account_id: String(payerAccountId) }
  if (payerAccountId !== caller.accountId) {
    return new Fault('insufficient_credits', {
      message: `Account ${payerAccountId} paid a part of this call's hold and cannot pay its part of the rest: ${inCredits(requiredMicro)} Credits. Nothing was charged. Try again when it has topped up.`,
      fields: required,
    })
  }
  const shortfall = requiredMicro - availableMicro
  return new Fault('insufficient_credits', {
    message: `This account's part is ${inCredits(requiredMicro)} Credits and ${inCredits(availableMicro)} are available. Nothing was charged. Top up by ${inCredits(shortfall)} Credits and try again.`,
    fields: {
      ...required,
      available_micro: String(availableMicro),
      shortfall_micro: String(shortfall),
      ...deps.paymentHint(shortfall),
    },
  })
}
