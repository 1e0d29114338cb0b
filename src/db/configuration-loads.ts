import type { Database } from './database.ts'
import type { ConfigurationOutcome } from './schema.ts'

/** What became of reading a configuration file again. */
export interface ConfigurationLoad {
  readonly outcome: ConfigurationOutcome
  /** For people: what changed, or what is wrong. */
  readonly lines: readonly string[]
}

const LINES_MAX = 500

/** Records what became of the file in this process. */
export async function recordLoad(
  db: Database,
  processId: bigint,
  { outcome, lines }: ConfigurationLoad,
): Promise<void> {
  await db
    .insertInto('configuration_loads')
    .values({ process_id: processId, outcome, lines: lines.slice(0, LINES_MAX) })
    .execute()
}

/** The newest reading of any process; 0 when there was none. */
export async function lastLoadId(db: Database): Promise<bigint> {
  const row = await db
    .selectFrom('configuration_loads')
    .select(({ fn }) => fn.max('id').as('id'))
    .executeTakeFirst()
  return row?.id ?? 0n
}

/** The first reading of each of these processes after another reading. */
export async function loadsAfter(
  db: Database,
  processIds: readonly bigint[],
  after: bigint,
): Promise<Array<ConfigurationLoad & { processId: bigint }>> {
  if (processIds.length === 0) return []
  const rows = await db
    .selectFrom('configuration_loads')
    .distinctOn('process_id')
    .select(['process_id', 'outcome', 'lines'])
    .where('process_id', 'in', processIds)
    .where('id', '>', after)
    .orderBy('process_id')
    .orderBy('id')
    .execute()
  return rows.map(({ process_id, outcome, lines }) => ({ processId: process_id, outcome, lines }))
}
