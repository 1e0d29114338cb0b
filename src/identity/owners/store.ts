import { sql } from 'kysely'
import type { Database, Tx } from '../../db/database.ts'
import type { AccountRole, AccountStatus } from '../../db/schema.ts'

/** Who somebody is at an identity provider: the pair, and nothing else (decisions 2). */
export interface Identity {
  readonly issuer: string
  readonly subject: string
}

/** A visit to a provider that has begun. */
export interface Login {
  readonly codeVerifier: string
  readonly nonce: string
  readonly invitationHash: Buffer | undefined
  /** A path of this server, or "". */
  readonly returnTo: string
}

/** Lapsed rows that each new one clears away: more than come in, so that the tables stay small by themselves. */
const CLEARED_BY_EACH = 4

/** Wrong invitation codes that a registration takes; with the last of them it is closed. */
const FAILED_ATTEMPTS_MAX = 10

/** Remembers a visit to a provider for this many seconds. */
export async function insertLogin(
  db: Database,
  login: Login & { stateHash: Buffer; provider: string; lifetimeSeconds: number },
): Promise<void> {
  await clearLapsed(db, 'owner_logins', 'state_hash')
  await db
    .insertInto('owner_logins')
    .values({
      state_hash: login.stateHash,
      provider: login.provider,
      code_verifier: login.codeVerifier,
      nonce: login.nonce,
      invitation_hash: login.invitationHash ?? null,
      return_to: login.returnTo,
      expires_at: inSeconds(login.lifetimeSeconds),
    })
    .execute()
}

/** Takes a visit that has not lapsed: of any number of callbacks with its state, one gets it. */
export async function takeLogin(
  db: Database,
  login: { stateHash: Buffer; provider: string },
): Promise<Login | undefined> {
  const row = await db
    .deleteFrom('owner_logins')
    .where('state_hash', '=', login.stateHash)
    .where('provider', '=', login.provider)
    .where('expires_at', '>', sql<Date>`now()`)
    .returning(['code_verifier', 'nonce', 'invitation_hash', 'return_to'])
    .executeTakeFirst()
  return (
    row && {
      codeVerifier: row.code_verifier,
      nonce: row.nonce,
      invitationHash: row.invitation_hash ?? undefined,
      returnTo: row.return_to,
    }
  )
}

/** Whose identity this is, noting the sign-in. undefined: nobody's yet. */
export async function findOwner(
  tx: Tx,
  { issuer, subject }: Identity,
): Promise<{ id: bigint; status: AccountStatus } | undefined> {
  return tx
    .updateTable('owner_identities')
    .from('accounts')
    .set({ last_sign_in_at: sql<Date>`now()` })
    .whereRef('accounts.id', '=', 'account_id')
    .where('issuer', '=', issuer)
    .where('subject', '=', subject)
    .returning(['accounts.id', 'accounts.status'])
    .executeTakeFirst()
}

/** Gives an identity to an account for good. One that is taken violates a unique key: see isIdentityTaken. */
export async function insertIdentity(
  tx: Tx,
  identity: Identity & { accountId: bigint; invitationId: bigint | undefined },
): Promise<void> {
  await tx
    .insertInto('owner_identities')
    .values({
      issuer: identity.issuer,
      subject: identity.subject,
      account_id: identity.accountId,
      invitation_id: identity.invitationId ?? null,
    })
    .execute()
}

/** True for the error of a second account with one identity. */
export function isIdentityTaken(error: unknown): boolean {
  const { code, constraint } = (error ?? {}) as { code?: unknown; constraint?: unknown }
  return code === '23505' && constraint === 'owner_identities_pkey'
}

/** Remembers a finished sign-in for this many seconds, until its code is exchanged. */
export async function insertCode(
  tx: Tx,
  code: { hash: Buffer; accountId: bigint; lifetimeSeconds: number },
): Promise<void> {
  await clearLapsed(tx, 'owner_sign_in_codes', 'code_hash')
  await tx
    .insertInto('owner_sign_in_codes')
    .values({
      code_hash: code.hash,
      account_id: code.accountId,
      expires_at: inSeconds(code.lifetimeSeconds),
    })
    .execute()
}

/** Takes a code that has not lapsed: of any number of exchanges, one gets the account. */
export async function takeCode(tx: Tx, hash: Buffer): Promise<{ id: bigint; status: AccountStatus } | undefined> {
  return tx
    .deleteFrom('owner_sign_in_codes')
    .using('accounts')
    .whereRef('accounts.id', '=', 'account_id')
    .where('code_hash', '=', hash)
    .where('expires_at', '>', sql<Date>`now()`)
    .returning(['accounts.id', 'accounts.status'])
    .executeTakeFirst()
}

/** Remembers for this many seconds someone who could not be registered yet. */
export async function insertRegistration(
  tx: Tx,
  registration: Identity & { idHash: Buffer; email: string | undefined; lifetimeSeconds: number },
): Promise<void> {
  await clearLapsed(tx, 'owner_registrations', 'id_hash')
  await tx
    .insertInto('owner_registrations')
    .values({
      id_hash: registration.idHash,
      issuer: registration.issuer,
      subject: registration.subject,
      email: registration.email ?? null,
      expires_at: inSeconds(registration.lifetimeSeconds),
    })
    .execute()
}

/** A registration that can still be finished, locked until the transaction ends: its attempts are serial. */
export async function lockRegistration(
  tx: Tx,
  idHash: Buffer,
): Promise<(Identity & { email: string | null }) | undefined> {
  return tx
    .selectFrom('owner_registrations')
    .select(['issuer', 'subject', 'email'])
    .where('id_hash', '=', idHash)
    .where('expires_at', '>', sql<Date>`now()`)
    .where('failed_attempts', '<', FAILED_ATTEMPTS_MAX)
    .forUpdate()
    .executeTakeFirst()
}

/** Counts a wrong invitation code, so that a registration is no place to try them all. */
export async function noteFailedAttempt(tx: Tx, idHash: Buffer): Promise<void> {
  await tx
    .updateTable('owner_registrations')
    .set(({ eb }) => ({ failed_attempts: eb('failed_attempts', '+', 1) }))
    .where('id_hash', '=', idHash)
    .execute()
}

/** Ends a registration that was finished. */
export async function deleteRegistration(tx: Tx, idHash: Buffer): Promise<void> {
  await tx.deleteFrom('owner_registrations').where('id_hash', '=', idHash).execute()
}

/** Sets an account's role; gives the one it had. undefined: there is no such account. */
export async function setRole(
  tx: Tx,
  { accountId, role }: { accountId: bigint; role: AccountRole },
): Promise<AccountRole | undefined> {
  const before = await tx
    .selectFrom('accounts')
    .select('role')
    .where('id', '=', accountId)
    .forNoKeyUpdate()
    .executeTakeFirst()
  if (before && before.role !== role)
    await tx.updateTable('accounts').set({ role }).where('id', '=', accountId).execute()
  return before?.role
}

async function clearLapsed(
  db: Database | Tx,
  table: 'owner_logins' | 'owner_sign_in_codes' | 'owner_registrations',
  key: 'state_hash' | 'code_hash' | 'id_hash',
): Promise<void> {
  await sql`delete from ${sql.table(table)} where ${sql.ref(key)} in (
    select ${sql.ref(key)} from ${sql.table(table)} where expires_at < now()
    order by expires_at limit ${sql.lit(CLEARED_BY_EACH)} for update skip locked)`.execute(db)
}

const inSeconds = (seconds: number) => sql<Date>`now() + make_interval(secs => ${seconds})`
