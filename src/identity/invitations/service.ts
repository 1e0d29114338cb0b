import type { Database, Tx } from '../../db/database.ts'
import type { Random } from '../../kernel/random.ts'
import { type Operator, operatorName, recordAction } from '../audit-log/service.ts'
import { invitationHash, newInvitationCode } from './code.ts'
import * as store from './store.ts'

/** What a new invitation may be given. */
export interface NewInvitation {
  readonly maxUses: number
  /** undefined: it never expires. */
  readonly expiresAt: Date | undefined
  /** For whom it is; nothing is checked against it. */
  readonly note: string
}

/** Who makes or ends it, for the audit log. */
export interface InvitationBy {
  readonly operator: Operator
  readonly reason?: string
  readonly requestId?: string
}

/** Makes an invitation, which is in the audit log. Its code is in this answer and nowhere else, ever. */
export async function createInvitation(
  deps: { readonly db: Database; readonly random: Random },
  wanted: NewInvitation,
  { operator, reason, requestId }: InvitationBy,
): Promise<{ id: bigint; code: string }> {
  const code = newInvitationCode(deps.random)
  const { maxUses, expiresAt, note } = wanted
  return deps.db.transaction().execute(async (tx) => {
    const id = await store.insert(tx, {
      ...wanted,
      codeHash: invitationHash(code),
      createdBy: operatorName(operator),
    })
    await recordAction(tx, {
      actor: operator,
      action: 'create.invitation',
      targetId: id,
      after: { max_uses: maxUses, expires_at: expiresAt?.toISOString() ?? null, note },
      reason,
      requestId,
    })
    return { id, code }
  })
}

/** Ends an invitation; who registered with it stays. False when it was ended before, undefined when there is none. */
export function revokeInvitation(
  db: Database,
  id: bigint,
  { operator, reason, requestId }: InvitationBy,
): Promise<boolean | undefined> {
  return db.transaction().execute(async (tx) => {
    const changed = await store.revoke(tx, id)
    if (changed)
      await recordAction(tx, {
        actor: operator,
        action: 'revoke.invitation',
        targetId: id,
        reason,
        requestId,
      })
    return changed
  })
}

/**
 * The one place where an invitation is used up: inside the transaction that makes the account, so that a use is
 * gone exactly when there is an account for it (decisions 2). Gives the invitation's id; undefined when the code
 * is unknown, expired, revoked or used up, which are all told alike.
 */
export function consumeInvitation(tx: Tx, codeHash: Buffer): Promise<bigint | undefined> {
  return store.consume(tx, codeHash)
}
