import { setTimeout as pause } from 'node:timers/promises'
import { type ConfigurationLoad, lastLoadId, loadsAfter } from '../../db/configuration-loads.ts'
import type { Database } from '../../db/database.ts'
import { recordAction } from '../../identity/audit-log/service.ts'
import type { Clock } from '../../kernel/clock.ts'
import { running } from '../../ledger/processes.ts'
import type { By } from '../by.ts'

/** What having the servers read the configuration again needs. */
export interface ReloadDeps {
  readonly db: Database
  readonly clock: Pick<Clock, 'monotonicMs'>
  readonly host: string
  /** The file that is read, for the record. */
  readonly file: string
  readonly isRunning: (pid: number) => boolean
  /** Asks a server of this host; false when it cannot be asked. */
  readonly ask: (pid: number) => boolean
}

/** What became of the file in one server. */
export interface ServerOutcome {
  readonly process_id: bigint
  readonly host: string
  readonly pid: number
  /** `elsewhere`: it was not asked, because it is on another host or belongs to another user. */
  readonly outcome: ConfigurationLoad['outcome'] | 'silent' | 'elsewhere'
  readonly lines: readonly string[]
}

/** How long the servers may take to read the file and say what became of it. */
const ANSWER_WITHIN_MS = 20_000
const ASK_EVERY_MS = 100
/** As much of what changed is in the audit log; all of it is in the database beside the reading. */
const LINES_RECORDED_MAX = 20
const LINE_LENGTH_MAX = 300

/**
 * Has the servers of this host read the configuration again, and records who asked and what became of it. Gives what
 * each server did; empty when none of this host runs on the database: then nothing was done.
 */
export async function reloadServers(
  deps: ReloadDeps,
  by: Omit<By, 'reason'> & { readonly reason?: string | undefined },
): Promise<ServerOutcome[]> {
  const outcomes = await askServers(deps)
  if (outcomes.length > 0)
    await deps.db.transaction().execute((tx) =>
      recordAction(tx, {
        actor: by.operator,
        action: 'reload.configuration',
        targetId: deps.file,
        after: { servers: outcomes.map(recorded) },
        reason: by.reason,
        requestId: by.requestId,
      }),
    )
  return outcomes
}

const recorded = ({ process_id, outcome, lines }: ServerOutcome) => ({
  process_id,
  outcome,
  changes: lines.length,
  lines: lines.slice(0, LINES_RECORDED_MAX).map((line) => line.slice(0, LINE_LENGTH_MAX)),
})

async function askServers({ db, clock, host, isRunning, ask }: ReloadDeps): Promise<ServerOutcome[]> {
  const servers = await running(db)
  // one that was killed a moment ago gave signs of life, too
  const here = servers.filter((server) => server.host === host && isRunning(server.pid))
  if (here.length === 0) return []
  const before = await lastLoadId(db)
  const ids = here.filter(({ pid }) => ask(pid)).map(({ id }) => id)
  const deadline = clock.monotonicMs() + ANSWER_WITHIN_MS
  let loads = await loadsAfter(db, ids, before)
  while (loads.length < ids.length && clock.monotonicMs() < deadline) {
    await pause(ASK_EVERY_MS)
    loads = await loadsAfter(db, ids, before)
  }
  const shown = servers.filter((server) => server.host !== host || here.includes(server))
  return shown.map(({ id, host: where, pid }): ServerOutcome => {
    const load = loads.find(({ processId }) => processId === id)
    const server = { process_id: id, host: where, pid }
    if (load) return { ...server, outcome: load.outcome, lines: load.lines }
    return { ...server, outcome: ids.includes(id) ? 'silent' : 'elsewhere', lines: [] }
  })
}
