import { sql } from 'kysely'
import type { Database } from '../../db/database.ts'
import type { AccountType, BucketKind, GrantSource, TransferKind } from '../../db/schema.ts'

/** An account's run of movements in a range of time, as its statement has it. */
export interface AccountSpan {
  readonly id: bigint
  readonly account_type: AccountType
  readonly from_id: bigint
  readonly before_id: bigint
  readonly opening_micro: bigint
}

/** A movement with what it came from. */
export interface LedgerRow {
  readonly id: bigint
  readonly account_id: bigint
  readonly at: string
  readonly kind: TransferKind
  readonly amount_micro: bigint
  readonly is_credit: boolean
  readonly other_side: string
  readonly bucket_id: bigint
  readonly bucket: BucketKind
  readonly balance_after_micro: bigint
  readonly grant_source: GrantSource | null
  readonly grant_source_id: string | null
  readonly chain_id: bigint | null
  readonly tx_hash: string | null
  readonly log_position: number | null
  readonly call_id: bigint | null
  readonly request_id: string | null
  readonly model: string | null
  readonly actor_account_id: bigint | null
  readonly key_id: bigint | null
  readonly refund_id: bigint | null
}

/** Moves the moment before which nothing can be stamped any more; gives it. */
export async function closedUntil(db: Database): Promise<Date> {
  const { rows } = await sql<{ closed: Date }>`select ledger_close_time() as closed`.execute(db)
  return rows[0]?.closed ?? new Date(0)
}

/** The next accounts by id, with their spans. */
export async function accountSpans(
  db: Database,
  wanted: { after: bigint; from: Date; to: Date; limit: number },
): Promise<AccountSpan[]> {
  const { rows } = await sql<AccountSpan>`
    select a.id, a.account_type, cut.from_id, cut.before_id, coalesce(before.balance_after_micro, 0)::bigint as opening_micro
    from (select id, account_type from accounts where id > ${wanted.after} order by id limit ${wanted.limit}) a
    cross join lateral (select statement_cut(a.id, ${wanted.from}) as from_id, statement_cut(a.id, ${wanted.to}) as before_id) cut
    left join lateral (
      select t.balance_after_micro from transfers t where (t.account_id, t.id) < (a.id, cut.from_id) and t.account_id >= a.id
      order by t.account_id desc, t.id desc limit 1
    ) before on true
    order by a.id`.execute(db)
  return rows
}

/** The first movements of each of these spans, at most `limit` of one account, by account and id. */
export async function movementsOf(db: Database, spans: readonly AccountSpan[], limit: number): Promise<LedgerRow[]> {
  const column = (of: (span: AccountSpan) => bigint) => sql`${spans.map(of)}::bigint[]`
  const { rows } = await sql<LedgerRow>`
    select t.id, t.account_id, to_char(t.moved_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at, t.kind, t.amount_micro::bigint,
           t.credit_id > 0 as is_credit, s.name as other_side, b.id as bucket_id, b.kind as bucket, t.balance_after_micro::bigint,
           g.source as grant_source, g.source_id as grant_source_id, r.chain_id, r.tx_hash, r.log_position,
           h.id as call_id, h.request_id, h.subject as model, h.actor_account_id, case when h.credential_kind = 'api_key' then h.credential_id end as key_id, t.refund_id
    from (
      select t.* from unnest(${column((span) => span.id)}, ${column((span) => span.from_id)}, ${column((span) => span.before_id)}) span (account_id, from_id, before_id)
      cross join lateral (
        select * from transfers t where t.account_id = span.account_id and t.id >= span.from_id and t.id < span.before_id
        order by t.id limit ${limit}
      ) t
    ) t
    join system_accounts s on s.id = least(t.debit_id, t.credit_id)
    join buckets b on b.id = greatest(t.debit_id, t.credit_id)
    left join credit_grants g on g.id = t.grant_id
    left join chain_receipts r on r.grant_id = t.grant_id
    left join holds h on h.id = t.hold_id
    order by t.account_id, t.id`.execute(db)
  return rows
}
