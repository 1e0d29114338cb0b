import type { Database } from '../../db/database.ts'
import type { AccountStatus } from '../../db/schema.ts'
import { setStatus } from '../../identity/accounts/store.ts'
import { recordAction } from '../../identity/audit-log/service.ts'
import { Fault } from '../../kernel/errors.ts'
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
  if (by.operator.kind === 'account' && by.operator.id === accountId) throw new Fault('own_account')
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
