import type { Tx } from '../../db/database.ts'
import type { AccountRole } from '../../db/schema.ts'
import { find } from '../accounts/store.ts'
import * as store from './store.ts'

/** Why a role was not given. */
export type RoleRefusal = 'no_such_account' | 'agents_have_no_role'

/**
 * Makes an owner an admin, or an ordinary user again: what the operator and the development economy both do.
 * Agents are users for good, since a role belongs to a person. Gives the role it was.
 */
export async function changeRole(
  tx: Tx,
  wanted: { accountId: bigint; role: AccountRole },
): Promise<{ before: AccountRole } | { refused: RoleRefusal }> {
  const account = await find(tx, wanted.accountId)
  if (!account) return { refused: 'no_such_account' }
  if (account.account_type === 'agent' && wanted.role === 'admin')
    return { refused: 'agents_have_no_role' }
  const before = await store.setRole(tx, wanted)
  return before === undefined ? { refused: 'no_such_account' } : { before }
}

/** Lets an account that was made elsewhere sign in by this identity. False when the identity has an account already. */
export async function linkIdentity(
  tx: Tx,
  wanted: store.Identity & { accountId: bigint },
): Promise<boolean> {
  if (await store.findOwner(tx, wanted)) return false
  await store.insertIdentity(tx, { ...wanted, invitationId: undefined })
  return true
}
