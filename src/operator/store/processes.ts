import { sql } from 'kysely'
import type { Database } from '../../db/database.ts'
import { SILENT_AFTER_SECONDS } from '../../ledger/processes.ts'

/** A server process that gives signs of life. */
export interface RunningProcess {
  readonly id: bigint
  readonly host: string
  readonly pid: number
}

/** The servers that run on this database, oldest first. */
export async function runningProcesses(db: Database): Promise<RunningProcess[]> {
  return db
    .selectFrom('processes')
    .select(['id', 'host', 'pid'])
    .where('ended_at', 'is', null)
    .where('heartbeat_at', '>', sql<Date>`now() - make_interval(secs => ${SILENT_AFTER_SECONDS})`)
    .orderBy('id')
    .execute()
}
