import { type RawBuilder, sql } from 'kysely'
import type { Database } from '../../../db/database.ts'
import type { AccountRole, AccountStatus, AccountType } from '../../../db/schema.ts'
import type { AccountRow } from '../../../identity/accounts/store.ts'

/** What an admin looks for. Without a term, every account. */
export interface AccountSearch {
  readonly term: Term | undefined
  readonly type: AccountType | undefined
  readonly status: AccountStatus | undefined
  readonly role: AccountRole | undefined
  /** Accounts with smaller ids: older ones. */
  readonly beforeId: bigint | undefined
  readonly limit: number
}

/** What was typed, read as everything that it may be. */
export interface Term {
  readonly id: bigint | undefined
  /** The beginning of a wallet address, lower-case. */
  readonly wallet: string | undefined
  /** The beginning of an e-mail address, lower-case. */
  readonly email: string | undefined
  /** Beginnings of words of a label, lower-case, letters and digits only. */
  readonly words: readonly string[]
}

/** An account in the list, with what it owns and when it last called. */
export interface AccountLine extends Omit<AccountRow, 'billing_mode'> {
  readonly balance_micro: bigint
  readonly available_micro: bigint
  readonly held_micro: bigint
  readonly last_call_at: Date | null
}

/** Accounts that match, newest first: one statement, whose sums are made for the rows of the page alone. */
export async function search(db: Database, wanted: AccountSearch): Promise<AccountLine[]> {
  const ways = wanted.term ? meanings(wanted.term) : [sql`from accounts a where true`]
  const ids = ways.map((way) => sql`(select a.id ${way} ${narrowed(wanted)} order by a.id desc limit ${wanted.limit})`)
  const { rows } = await sql<AccountLine>`
    select a.id, a.account_type, a.status, a.role, a.wallet_address, a.email,
           coalesce(nullif(a.label, ''), nullif(l.agent_label, '')) as label, a.created_at, l.owner_account_id, sums.*,
           (select max(h.created_at) from holds h where h.actor_account_id = a.id) as last_call_at
    from (select id from (${sql.join(ids, sql` union `)}) found order by id desc limit ${wanted.limit}) page
    join accounts a on a.id = page.id
    left join agent_links l on l.agent_account_id = a.id
    cross join lateral (
      select coalesce(sum(b.posted_micro), 0)::bigint as balance_micro, coalesce(sum(b.held_micro), 0)::bigint as held_micro,
             coalesce(sum(b.posted_micro - b.held_micro) filter (where b.expires_at is null or b.expires_at > now()), 0)::bigint as available_micro
      from buckets b where b.account_id = a.id
    ) sums
    order by a.id desc`.execute(db)
  return rows
}

/** The filters, which narrow each way by itself: a word that a million labels have is then as fast as a rare one. */
function narrowed({ type, status, role, beforeId }: AccountSearch): RawBuilder<unknown> {
  const conditions = [
    type && sql`and a.account_type = ${type}`,
    status && sql`and a.status = ${status}`,
    // literal, so that the small index of admins serves it
    role && (role === 'admin' ? sql`and a.role = 'admin'` : sql`and a.role = 'user'`),
    beforeId && sql`and a.id < ${beforeId}`,
  ].filter((condition) => condition !== undefined)
  return conditions.length === 0 ? sql`` : sql.join(conditions, sql` `)
}

/** Where the accounts are that a term may mean: each way has its own index. */
function meanings({ id, wallet, email, words }: Term): Array<RawBuilder<unknown>> {
  const prefix = (text: string) => `${text.replace(/[\\%_]/g, '\\$&')}%`
  const named = words.map((word) => `${word}:*`).join(' & ')
  const ways = [
    id !== undefined && sql`from accounts a where a.id = ${id}`,
    wallet !== undefined &&
      sql`from account_wallets w join accounts a on a.id = w.account_id where w.address like ${prefix(wallet)}`,
    email !== undefined && sql`from accounts a where a.email is not null and lower(a.email) like ${prefix(email)}`,
    words.length > 0 && sql`from (${labelled(named)}) a where true`,
    words.length > 0 && sql`from (${namedByOwner(named)}) a where true`,
  ].filter((way) => way !== false)
  return ways.length === 0 ? [sql`from accounts a where false`] : ways
}

// "offset 0" keeps the words' index in use: how many labels a word's beginning has is guessed badly, and a guess too
// high walks all accounts instead
const labelled = (named: string) =>
  sql`select * from accounts where label is not null and to_tsvector('simple', label) @@ to_tsquery('simple', ${named}) offset 0`

const namedByOwner = (named: string) =>
  sql`select a.* from agent_links l join accounts a on a.id = l.agent_account_id
      where l.agent_label <> '' and to_tsvector('simple', l.agent_label) @@ to_tsquery('simple', ${named}) offset 0`
