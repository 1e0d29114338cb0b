import { type RawBuilder, sql } from 'kysely'
import type { Database } from '../../../db/database.ts'
import type { AccountRole, AccountStatus, AccountType } from '../../../db/schema.ts'

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
export interface AccountLine {
  readonly id: bigint
  readonly account_type: AccountType
  readonly status: AccountStatus
  readonly role: AccountRole
  readonly wallet_address: string | null
  readonly email: string | null
  readonly label: string | null
  readonly created_at: Date
  readonly owner_account_id: bigint | null
  readonly balance_micro: bigint
  readonly available_micro: bigint
  readonly held_micro: bigint
  readonly last_call_at: Date | null
}

/** Accounts that match, newest first: one statement, whose sums are made for the rows of the page alone. */
export async function search(db: Database, wanted: AccountSearch): Promise<AccountLine[]> {
  const conditions = [
    wanted.term && sql`a.id in (${matching(wanted.term)})`,
    wanted.type && sql`a.account_type = ${wanted.type}`,
    wanted.status && sql`a.status = ${wanted.status}`,
    // literal, so that the small index of admins serves it
    wanted.role && (wanted.role === 'admin' ? sql`a.role = 'admin'` : sql`a.role = 'user'`),
    wanted.beforeId && sql`a.id < ${wanted.beforeId}`,
  ].filter((condition) => condition !== undefined)
  const { rows } = await sql<AccountLine>`
    select a.id, a.account_type, a.status, a.role, a.wallet_address, a.email,
           coalesce(nullif(a.label, ''), nullif(l.agent_label, '')) as label, a.created_at, l.owner_account_id, sums.*,
           (select max(h.created_at) from holds h where h.actor_account_id = a.id) as last_call_at
    from (select * from accounts a where ${sql.join([sql`true`, ...conditions], sql` and `)} order by a.id desc limit ${wanted.limit}) a
    left join agent_links l on l.agent_account_id = a.id
    cross join lateral (
      select coalesce(sum(b.posted_micro), 0)::bigint as balance_micro, coalesce(sum(b.held_micro), 0)::bigint as held_micro,
             coalesce(sum(b.posted_micro - b.held_micro) filter (where b.expires_at is null or b.expires_at > now()), 0)::bigint as available_micro
      from buckets b where b.account_id = a.id
    ) sums
    order by a.id desc`.execute(db)
  return rows
}

/** Ids of the accounts that a term may mean, each way by its own index. */
function matching({ id, wallet, email, words }: Term): RawBuilder<unknown> {
  const prefix = (text: string) => `${text.replace(/[\\%_]/g, '\\$&')}%`
  const named = words.map((word) => `${word}:*`).join(' & ')
  const ways = [
    sql`select null::bigint where false`,
    id !== undefined && sql`select ${id}::bigint`,
    wallet !== undefined && sql`select account_id from account_wallets where address like ${prefix(wallet)}`,
    email !== undefined && sql`select id from accounts where lower(email) like ${prefix(email)}`,
    words.length > 0 &&
      sql`select id from accounts where label is not null and to_tsvector('simple', label) @@ to_tsquery('simple', ${named})`,
    words.length > 0 &&
      sql`select agent_account_id from agent_links where agent_label <> '' and to_tsvector('simple', agent_label) @@ to_tsquery('simple', ${named})`,
  ].filter((way) => way !== false)
  return sql.join(ways, sql` union all `)
}
