import type { Tx } from '../../db/database.ts'
import type { AccountRole } from '../../db/schema.ts'
import { find } from '../accounts/store.ts'
import { type Actor, recordAction } from '../audit-log/service.ts'
import * as store from './store.ts'

/** Why a role was not given. */
export type RoleRefusal = 'no_such_account' | 'agents_have_no_role'

/**
 * Makes an owner an admin, or an ordinary user again: what the operator and the development economy both do.
 * Agents are users for good, since a role belongs to a person. Gives the role it was; a change is in the audit log.
 */
export async function changeRole(
  tx: Tx,
  wanted: { accountId: bigint; role: AccountRole },
  by: { actor: Actor; reason: string; requestId?: string | undefined },
): Promise<{ before: AccountRole } | { refused: RoleRefusal }> {
  const account = await find(tx, wanted.accountId)
  if (account?.account_type === 'agent' && wanted.role === 'admin') return { refused: 'agents_have_no_role' }
  const before = await store.setRole(tx, wanted)
  if (before === undefined) return { refused: 'no_such_account' }
  if (before !== wanted.role)
    await recordAction(tx, {
      ...by,
      action: 'change_role.account',
      targetId: wanted.accountId,
      before: { role: before },
      after: { role: wanted.role },
    })
  return { before }
}

/** Lets an account that was made elsewhere sign in by this identity. False when the identity has an account already. */
export async function linkIdentity(tx: Tx, wanted: store.Identity & { accountId: bigint }): Promise<boolean> {
  if (await store.findOwner(tx, wanted)) return false
  await store.insertIdentity(tx, { ...wanted, invitationId: undefined })
  return true
}
