import { sql } from 'kysely'
import type { Database } from '../db/database.ts'

/** Microcredits that open holds keep, by why they are open. */
export interface Held {
  readonly in_flight: number
  readonly usage_unknown: number
  readonly pending_settlement: number
  /** Of Credits whose payment is in doubt. */
  readonly review: number
}

/** What all accounts together hold now. Reads the buckets, the open settlements and the holds of reviews, never the history. */
export async function heldByState(db: Database): Promise<Held> {
  const { rows } = await sql<Record<'total' | 'usage_unknown' | 'pending_settlement' | 'review', string>>`
    select (select coalesce(sum(held_micro), 0) from buckets) as total,
           (select coalesce(sum(h.reserve_micro), 0) from holds h
            where h.category = 'review' and not exists (select from hold_resolutions r where r.hold_id = h.id)) as review,
           coalesce(sum(h.reserve_micro) filter (where not f.short), 0) as usage_unknown,
           coalesce(sum(h.reserve_micro) filter (where f.short), 0) as pending_settlement
    from settlements s
    join holds h on h.id = s.hold_id
    -- an unknown usage that came in after all, above the hold, has both flags and waits for its payers
    join (select hold_id, bool_or(flag = 'shortfall') as short from hold_flags group by hold_id) f on f.hold_id = s.hold_id
    where not exists (select from hold_resolutions r where r.hold_id = s.hold_id)`.execute(db)
  const sums = rows[0] as (typeof rows)[number]
  const apart = {
    usage_unknown: Number(sums.usage_unknown),
    pending_settlement: Number(sums.pending_settlement),
    review: Number(sums.review),
  }
  return { in_flight: Number(sums.total) - apart.usage_unknown - apart.pending_settlement - apart.review, ...apart }
}
