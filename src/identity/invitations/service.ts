import type { Database, Tx } from '../../db/database.ts'
import type { Random } from '../../kernel/random.ts'
import { invitationHash, newInvitationCode } from './code.ts'
import * as store from './store.ts'

/** What a new invitation may be given. */
export interface NewInvitation {
  readonly maxUses: number
  /** undefined: it never expires. */
  readonly expiresAt: Date | undefined
  /** For whom it is; nothing is checked against it. */
  readonly note: string
  /** Who makes it, as in `operator:ada`. */
  readonly createdBy: string
}

/** Makes an invitation. Its code is in this answer and nowhere else, ever. */
export async function createInvitation(
  deps: { readonly db: Database | Tx; readonly random: Random },
  wanted: NewInvitation,
): Promise<{ id: bigint; code: string }> {
  const code = newInvitationCode(deps.random)
  const id = await store.insert(deps.db, { ...wanted, codeHash: invitationHash(code) })
  return { id, code }
}

/**
 * The one place where an invitation is used up: inside the transaction that makes the account, so that a use is
 * gone exactly when there is an account for it (decisions 2). Gives the invitation's id; undefined when the code
 * is unknown, expired, revoked or used up, which are all told alike.
 */
export function consumeInvitation(tx: Tx, codeHash: Buffer): Promise<bigint | undefined> {
  return store.consume(tx, codeHash)
}
