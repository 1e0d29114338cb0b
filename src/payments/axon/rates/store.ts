import type { Selectable } from 'kysely'
import type { Database } from '../../../db/database.ts'
import type { DB } from '../../../db/schema.ts'
import type { RateReading } from './source.ts'

/** A rate that was sampled. `rate` has 18 places. */
export interface Sample {
  readonly id: bigint
  readonly rate: bigint
  readonly observedAt: Date
  readonly sampledAt: Date
}

const sampleOf = (row: Selectable<DB['axon_rates']>): Sample => ({
  id: row.id,
  rate: BigInt(row.rate),
  observedAt: row.observed_at,
  sampledAt: row.sampled_at,
})

/** Keeps a rate, with what its sources said. */
export async function insert(db: Database, source: string, reading: RateReading, at: Date): Promise<Sample> {
  const row = await db
    .insertInto('axon_rates')
    .values({
      source,
      rate: String(reading.rate),
      observed_at: reading.observedAt,
      sampled_at: at,
      detail: JSON.stringify(reading.detail),
    })
    .returningAll()
    .executeTakeFirstOrThrow()
  return sampleOf(row)
}

/** The newest sample that was taken until then. */
export async function newest(db: Database, source: string, until: Date): Promise<Sample | undefined> {
  const row = await db
    .selectFrom('axon_rates')
    .selectAll()
    .where('source', '=', source)
    .where('sampled_at', '<=', until)
    .orderBy('sampled_at', 'desc')
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row && sampleOf(row)
}

/** Forgets samples that are older and that no quote was made with. */
export async function forgetBefore(db: Database, before: Date): Promise<void> {
  await db
    .deleteFrom('axon_rates')
    .where('sampled_at', '<', before)
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom('axon_quotes').select('axon_quotes.id').whereRef('rate_id', '=', 'axon_rates.id'))),
    )
    .execute()
}
