import { sql } from 'kysely'
import type { Database, Tx } from '../../../db/database.ts'
import { assert } from '../../../kernel/assert.ts'

/** Closed time that is rolled up in one go, from millisecond to millisecond: `until` is not in it. */
export interface Span {
  readonly since: Date
  readonly until: Date
}

/** Lets the statements of this transaction take longer than those that somebody waits for. */
export async function allowTime(tx: Tx, milliseconds: number): Promise<void> {
  await sql`select set_config('statement_timeout', ${String(milliseconds)}, true), set_config('jit', 'off', true)`.execute(
    tx,
  )
}

/** Moves the moment before which nothing can be stamped any more; gives it, cut to the millisecond. */
export async function closeTime(db: Database): Promise<Date> {
  const { rows } = await sql<{ closed: Date }>`select ledger_close_time() as closed`.execute(db)
  assert(rows[0], 'ledger_close_time() gives one row')
  return rows[0].closed
}

/** The hours, as spans, that may be rolled up: from where the last roll-up ended to `until`, at most a day. */
export async function nextSpan(tx: Tx, until: Date): Promise<Span | undefined> {
  const { rows } = await sql<Span>`
    select rolled_until as since, upto as until
    from usage_rolled, least(${until}::timestamptz, rolled_until + interval '1 day') upto
    where upto > rolled_until`.execute(tx)
  return rows[0]
}

/**
 * Notes where the next span begins. Changes the one row that says so even when it stays: of two roll-ups at once,
 * the second to come is refused by the database (serialization failure).
 */
export async function markRolled(tx: Tx, until: Date | undefined): Promise<void> {
  await sql`update usage_rolled set rolled_until = coalesce(${until ?? null}::timestamptz, rolled_until)`.execute(tx)
}

/** Calls that ended after their hour was rolled up: what they came to is added. Gives how many. */
export async function addLateEnds(tx: Tx): Promise<number> {
  // few calls are open, whatever the size of the ledger: `offset 0` has each looked up by its id, never all ends read
  const { numAffectedRows } = await sql`
    with ended as (
      delete from usage_open o where exists (select from hold_resolutions r where r.hold_id = o.hold_id offset 0) returning o.*
    )
    insert into usage_hours (account_id, hour, model, actor_account_id, key_id, charged_micro, refunded_micro, owner_charged_micro, calls, errors, input_tokens, output_tokens)
    select e.account_id, e.hour, c.model, c.actor_account_id, c.key_id, 0, 0, coalesce(sum(c.owner_charged_micro), 0), 0,
           count(*) filter (where c.outcome = 'failed'), coalesce(sum(c.input_tokens), 0), coalesce(sum(c.output_tokens), 0)
    from ended e
    cross join lateral (select * from usage_calls u where u.account_id = e.account_id and u.hold_id = e.hold_id offset 0) c
    group by e.account_id, e.hour, c.model, c.actor_account_id, c.key_id`.execute(tx)
  return Number(numAffectedRows ?? 0n)
}

/** Calls that began in the span. Those that have not ended are counted, and noted for later. */
export async function addCalls(tx: Tx, span: Span): Promise<void> {
  await sql`
    with called as materialized (
      select c.*, date_trunc('hour', c.created_at, 'UTC') as hour from usage_calls c
      where c.created_at >= ${span.since}::timestamptz and c.created_at < ${span.until}::timestamptz
    ), opened as (
      insert into usage_open (account_id, hour, hold_id) select account_id, hour, hold_id from called where outcome is null
    )
    insert into usage_hours (account_id, hour, model, actor_account_id, key_id, charged_micro, refunded_micro, owner_charged_micro, calls, errors, input_tokens, output_tokens)
    select account_id, hour, model, actor_account_id, key_id, 0, 0, coalesce(sum(owner_charged_micro), 0), count(*),
           count(*) filter (where outcome = 'failed'), coalesce(sum(input_tokens), 0), coalesce(sum(output_tokens), 0)
    from called group by account_id, hour, model, actor_account_id, key_id`.execute(tx)
}

/**
 * What the movements of the span charged and gave back, by the same ids as statements: an account's hour is the run
 * of ids between the two moments. Where no movement is stamped in an hour, that run is empty.
 */
export async function addCharges(tx: Tx, span: Span): Promise<void> {
  await sql`
    with stamped as (
      select distinct account_id, date_trunc('hour', moved_at, 'UTC') as hour
      from transfers_moved(${span.since}, ${span.until})
    ), run as materialized (
      select account_id, hour, statement_cut(account_id, greatest(hour, ${span.since}::timestamptz)) as from_id,
             statement_cut(account_id, least(hour + interval '1 hour', ${span.until}::timestamptz)) as before_id
      from stamped
    )
    insert into usage_hours (account_id, hour, model, actor_account_id, key_id, charged_micro, refunded_micro, owner_charged_micro, calls, errors, input_tokens, output_tokens)
    select run.account_id, run.hour, h.subject, h.actor_account_id, case when h.credential_kind = 'api_key' then h.credential_id end,
           coalesce(sum(t.amount_micro) filter (where t.kind = 'capture'), 0), coalesce(sum(t.amount_micro) filter (where t.kind = 'refund'), 0), 0, 0, 0, 0, 0
    from run
    join transfers t on t.account_id = run.account_id and t.id >= run.from_id and t.id < run.before_id and t.kind in ('capture', 'refund')
    join holds h on h.id = t.hold_id
    group by 1, 2, 3, 4, 5`.execute(tx)
}
