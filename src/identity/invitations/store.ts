import { sql } from 'kysely'
import type { Database, Tx } from '../../db/database.ts'

/** An invitation as the operator sees it. */
export interface InvitationRow {
  readonly id: bigint
  readonly note: string
  readonly max_uses: number
  readonly uses: number
  readonly created_by: string
  readonly created_at: Date
  readonly expires_at: Date | null
  readonly revoked_at: Date | null
  /** By the database's clock, which is the one that decides. */
  readonly expired: boolean
}

/** Stores an invitation; gives its id. */
export async function insert(
  tx: Tx,
  invitation: {
    codeHash: Buffer
    note: string
    maxUses: number
    expiresAt: Date | undefined
    createdBy: string
  },
): Promise<bigint> {
  const row = await tx
    .insertInto('invitations')
    .values({
      code_hash: invitation.codeHash,
      note: invitation.note,
      max_uses: invitation.maxUses,
      expires_at: invitation.expiresAt ?? null,
      created_by: invitation.createdBy,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  return row.id
}

/** Takes one use, if there is one left: of any number at once, no more succeed than were allowed. Gives the invitation's id. */
export async function consume(tx: Tx, codeHash: Buffer): Promise<bigint | undefined> {
  const row = await tx
    .updateTable('invitations')
    .set(({ eb }) => ({ uses: eb('uses', '+', 1) }))
    .where('code_hash', '=', codeHash)
    .where('revoked_at', 'is', null)
    .where(sql<boolean>`uses < max_uses and (expires_at is null or expires_at > now())`)
    .returning('id')
    .executeTakeFirst()
  return row?.id
}

/** Ends an invitation; who registered with it stays. False when it was ended before, undefined when there is none. */
export async function revoke(tx: Tx, id: bigint): Promise<boolean | undefined> {
  const before = await tx
    .selectFrom('invitations')
    .select('revoked_at')
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst()
  if (before?.revoked_at === null)
    await tx.updateTable('invitations').set({ revoked_at: sql<Date>`now()` }).where('id', '=', id).execute()
  return before && before.revoked_at === null
}

/** The newest invitations, newest first; with `beforeId`, those that are older than that one. */
export async function list(db: Database, limit: number, beforeId?: bigint): Promise<InvitationRow[]> {
  let select = db
    .selectFrom('invitations')
    .select([
      'id',
      'note',
      'max_uses',
      'uses',
      'created_by',
      'created_at',
      'expires_at',
      'revoked_at',
      sql<boolean>`coalesce(expires_at <= now(), false)`.as('expired'),
    ])
    .orderBy('id', 'desc')
    .limit(limit)
  if (beforeId !== undefined) select = select.where('id', '<', beforeId)
  return select.execute()
}
