import type { Database, Tx } from '../../db/database.ts'
import type { Random } from '../../kernel/random.ts'
import { recordAction } from '../audit-log/service.ts'
import { invitationHash, newInvitationCode } from './code.ts'
import * as store from './store.ts'

/** What a new invitation may be given. */
export interface NewInvitation {
  readonly maxUses: number
  /** undefined: it never expires. */
  readonly expiresAt: Date | undefined
  /** For whom it is; nothing is checked against it. */
  readonly note: string
  /** Who makes it, at the terminal. */
  readonly operator: string
}

/** Makes an invitation, which is in the audit log. Its code is in this answer and nowhere else, ever. */
export async function createInvitation(
  deps: { readonly db: Database; readonly random: Random },
  { operator, ...wanted }: NewInvitation,
): Promise<{ id: bigint; code: string }> {
  const code = newInvitationCode(deps.random)
  const { maxUses, expiresAt, note } = wanted
  return deps.db.transaction().execute(async (tx) => {
    const id = await store.insert(tx, {
      ...wanted,
      codeHash: invitationHash(code),
      createdBy: `operator:${operator}`,
    })
    await recordAction(tx, {
      actor: { kind: 'operator', name: operator },
      action: 'create.invitation',
      targetId: id,
      after: { max_uses: maxUses, expires_at: expiresAt?.toISOString() ?? null, note },
    })
    return { id, code }
  })
}

/** Ends an invitation; who registered with it stays. False when it was ended before, undefined when there is none. */
export function revokeInvitation(
  db: Database,
  wanted: { id: bigint; operator: string; reason: string },
): Promise<boolean | undefined> {
  return db.transaction().execute(async (tx) => {
    const changed = await store.revoke(tx, wanted.id)
    if (changed)
      await recordAction(tx, {
        actor: { kind: 'operator', name: wanted.operator },
        action: 'revoke.invitation',
        targetId: wanted.id,
        reason: wanted.reason,
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
