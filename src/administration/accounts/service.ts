import type { Database } from '../../db/database.ts'
import type { AccountRole, AccountStatus } from '../../db/schema.ts'
import { setStatus } from '../../identity/accounts/store.ts'
import { recordAction } from '../../identity/audit-log/service.ts'
import { changeRole } from '../../identity/owners/operations.ts'
import { Fault } from '../../kernel/errors.ts'
import type { Microcredits } from '../../kernel/money.ts'
import { setAccountBalanceLow } from '../../ledger/balance-low.ts'
import type { By } from '../by.ts'
import { type StatusVerb, type Step, steps } from './status.ts'
import * as store from './store.ts'

/** What became of an account's status. */
export interface StatusChange {
  readonly accountId: bigint
  readonly before: AccountStatus
  readonly status: AccountStatus
  readonly changed: boolean
}

/**
 * Bans, unbans, deactivates or reactivates an account. A repeat changes nothing and is not recorded again. Refuses with
 * `account_not_found`, `account_status_conflict`, and an admin's own account with `own_account`.
 */
export async function changeStatus(
  db: Database,
  wanted: { readonly accountId: bigint; readonly verb: StatusVerb },
  by: By,
): Promise<StatusChange> {
  const { accountId, verb } = wanted
  refuseOwn(accountId, by)
  return db.transaction().execute(async (tx) => {
    const before = await store.lockStatus(tx, accountId)
    if (before === undefined) throw new Fault('account_not_found')
    const step: Step = steps[verb][before]
    if (step === 'already') return { accountId, before, status: before, changed: false }
    if ('refused' in step)
      throw new Fault('account_status_conflict', {
        message: `Account ${accountId} was left as it is. ${step.refused}`,
      })
    await setStatus(tx, accountId, step.to)
    await recordAction(tx, {
      actor: by.operator,
      action: `${verb}.account`,
      targetId: accountId,
      before: { status: before },
      after: { status: step.to },
      reason: by.reason,
      requestId: by.requestId,
    })
    return { accountId, before, status: step.to, changed: true }
  })
}

/**
 * Makes an owner an admin, or an ordinary user again. A repeat changes nothing and is not recorded. Refuses with
 * `account_not_found`, for Agents with `account_role_conflict`, and an admin's own account with `own_account`.
 */
export async function giveRole(
  db: Database,
  wanted: { readonly accountId: bigint; readonly role: AccountRole },
  by: By,
): Promise<{ readonly before: AccountRole; readonly changed: boolean }> {
  refuseOwn(wanted.accountId, by)
  const done = await db
    .transaction()
    .execute((tx) => changeRole(tx, wanted, { actor: by.operator, reason: by.reason, requestId: by.requestId }))
  if ('before' in done) return { before: done.before, changed: done.before !== wanted.role }
  if (done.refused === 'no_such_account') throw new Fault('account_not_found')
  throw new Fault('account_role_conflict', {
    message: `Account ${wanted.accountId} was left as it is. It is an Agent: only an owner can be an admin.`,
  })
}

/**
 * Sets below which balance an account is told (`balance.low`); undefined takes its own threshold away, so that the one
 * for all applies. Refuses with `account_not_found`.
 */
export async function setAlert(
  db: Database,
  wanted: { readonly accountId: bigint; readonly belowMicro: Microcredits | undefined },
  by: By,
): Promise<{ readonly changed: boolean }> {
  const { accountId, belowMicro } = wanted
  return db.transaction().execute(async (tx) => {
    if (!(await store.exists(tx, accountId))) throw new Fault('account_not_found')
    const before = await setAccountBalanceLow(tx, accountId, belowMicro)
    if (before === belowMicro) return { changed: false }
    await recordAction(tx, {
      actor: by.operator,
      action: 'set_alert.credits',
      targetId: accountId,
      before: { below_micro: before ?? null },
      after: { below_micro: belowMicro ?? null },
      reason: by.reason,
      requestId: by.requestId,
    })
    return { changed: true }
  })
}

/** What would lock an admin out is for another admin, or for the terminal. */
function refuseOwn(accountId: bigint, { operator }: By): void {
  if (operator.kind === 'account' && operator.id === accountId) throw new Fault('own_account')
}
