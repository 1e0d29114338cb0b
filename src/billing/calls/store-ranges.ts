import { sql } from 'kysely'
import type { Database, Tx } from '../../db/database.ts'

/** Above every id of a movement. */
export const AFTER_EVERY_ID = 9_007_199_254_740_992n

/**
 * For each moment the id at which an account's movements pass it: smaller ids are before, the others after.
 *
 * A movement's time is the start of its transaction, which may have waited for the family's lock, so times are
 * not exactly in the order of ids. A statement must be a run of ids all the same: only so do opening and closing
 * balance fit. The ids are therefore searched by halving, always at the same places. Near a moment around which
 * times are out of order the answer is one of the crossings there; it is the same each time, and a later moment
 * never gives a smaller id, so adjacent ranges neither share a movement nor lose one. Some 25 index look-ups for
 * each moment, whatever the size of the history.
 */
export async function idsAtMoments(db: Database | Tx, accountId: bigint, moments: readonly Date[]): Promise<bigint[]> {
  if (moments.length === 0) return []
  const { rows } = await sql<{ id: bigint }>`
    with recursive span as (
      -- a power of two above every id: the places that are looked at stay the same while the history grows
      select 1::bigint << ceil(log(2.0, coalesce(max(id), 0)::numeric + 2))::int as size from transfers where account_id = ${accountId}
    ), search as (
      select m.n, m.moment, 0::bigint as low, span.size as high
      from unnest(${moments.map((moment) => moment.toISOString())}::timestamptz[]) with ordinality m (moment, n), span
      union all
      select s.n, s.moment, case when seen.is_before then middle.id + 1 else s.low end, case when seen.is_before then s.high else middle.id end
      from search s
      cross join lateral (select (s.low + s.high) / 2 as id) middle
      cross join lateral (
        select coalesce((select t.moved_at from transfers t where t.account_id = ${accountId} and t.id >= middle.id order by t.id limit 1) < s.moment, false) as is_before
      ) seen
      where s.low < s.high
    )
    select low as id from search where low = high order by n`.execute(db)
  return rows.map((row) => row.id)
}
