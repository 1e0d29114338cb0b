import { sql } from 'kysely'
import type { Database } from '../db/database.ts'

/** Microcredits that open holds keep, by why they are open. */
export interface Held {
  readonly in_flight: number
  readonly usage_unknown: number
  readonly pending_settlement: number
}

/** What all accounts together hold now. Reads the buckets and the open settlements, never the history. */
export async function heldByState(db: Database): Promise<Held> {
  const { rows } = await sql<{ total: string; usage_unknown: string; pending_settlement: string }>`
    select (select coalesce(sum(held_micro), 0) from buckets) as total,
           coalesce(sum(h.reserve_micro) filter (where not f.short), 0) as usage_unknown,
           coalesce(sum(h.reserve_micro) filter (where f.short), 0) as pending_settlement
    from settlements s
    join holds h on h.id = s.hold_id
    -- an unknown usage that came in after all, above the hold, has both flags and waits for its payers
    join (select hold_id, bool_or(flag = 'shortfall') as short from hold_flags group by hold_id) f on f.hold_id = s.hold_id
    where not exists (select from hold_resolutions r where r.hold_id = s.hold_id)`.execute(db)
  const row = rows[0] as { total: string; usage_unknown: string; pending_settlement: string }
  const unknown = Number(row.usage_unknown)
  const pending = Number(row.pending_settlement)
  return { in_flight: Number(row.total) - unknown - pending, usage_unknown: unknown, pending_settlement: pending }
}
