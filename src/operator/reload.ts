import { setTimeout as pause } from 'node:timers/promises'
import type { ProgramSurroundings } from '../app/surroundings.ts'
import { lastLoadId, loadsAfter } from '../db/configuration-loads.ts'
import type { Database } from '../db/database.ts'
import { exitCodes, ProgramFault } from '../terminal/exit-codes.ts'
import { print } from '../terminal/output.ts'
import { withDatabase } from './session.ts'
import { type RunningProcess, runningProcesses } from './store/processes.ts'

/** How long the servers may take to read the file and say what became of it. */
const ANSWER_WITHIN_MS = 20_000
const ASK_EVERY_MS = 100

/** What became of the file in one server. */
interface Outcome {
  readonly process_id: bigint
  readonly host: string
  readonly pid: number
  readonly outcome: 'applied' | 'unchanged' | 'refused' | 'silent' | 'elsewhere'
  readonly lines: readonly string[]
}

/** Has the servers of this host read the configuration again, and prints what changed. Refuses when one of them refused. */
export async function reloadServers(around: ProgramSurroundings, options: { json?: boolean }): Promise<void> {
  const outcomes = await withDatabase(around, 'waiting for the servers', ({ db }) => askAll(around, db))
  print(around, options, { data: { servers: outcomes }, text: outcomes.map(shown).join('\n') })
  const failed = outcomes.filter(({ outcome }) => outcome === 'refused' || outcome === 'silent')
  if (failed.length > 0)
    throw new ProgramFault(
      exitCodes.failed,
      failed.some(({ outcome }) => outcome === 'refused')
        ? 'The file was refused, so the settings of before stay in force. Correct it and run this again.'
        : 'Not every server answered. Its log and GET /readyz tell what is in force.',
    )
}

async function askAll(around: ProgramSurroundings, db: Database): Promise<Outcome[]> {
  const running = await runningProcesses(db)
  // one that was killed a moment ago gave signs of life, too
  const here = running.filter(({ host, pid }) => host === around.host && around.isRunning(pid))
  if (here.length === 0)
    throw new ProgramFault(
      exitCodes.failed,
      running.every(({ host }) => host === around.host)
        ? 'No server runs on this database. It reads the file when it starts.'
        : `No server of this database runs on this host. Run this on ${[...new Set(running.map(({ host }) => host))].join(', ')}.`,
    )
  const before = await lastLoadId(db)
  for (const { pid } of here) ask(around, pid)
  const ids = here.map(({ id }) => id)
  const deadline = around.clock.monotonicMs() + ANSWER_WITHIN_MS
  let loads = await loadsAfter(db, ids, before)
  while (loads.length < ids.length && around.clock.monotonicMs() < deadline) {
    await pause(ASK_EVERY_MS)
    loads = await loadsAfter(db, ids, before)
  }
  const asked = running.filter(({ id, host }) => host !== around.host || ids.includes(id))
  return asked.map(({ id, host, pid }): Outcome => {
    const load = loads.find(({ processId }) => processId === id)
    const process = { process_id: id, host, pid }
    if (load) return { ...process, outcome: load.outcome, lines: load.lines }
    return { ...process, outcome: ids.includes(id) ? 'silent' : 'elsewhere', lines: [] }
  })
}

function ask(around: ProgramSurroundings, pid: RunningProcess['pid']): void {
  try {
    around.askToReload(pid)
  } catch (cause) {
    throw new ProgramFault(
      exitCodes.failed,
      `The server with pid ${pid} cannot be signalled. Run this as the user that runs it, or send it SIGHUP.`,
      { cause },
    )
  }
}

const outcomeInWords = {
  applied: 'applied',
  unchanged: 'nothing changed',
  refused: 'REFUSED, the settings of before stay in force',
  silent: 'NO ANSWER',
  elsewhere: 'not asked: it is on another host, run this there',
} as const satisfies Record<Outcome['outcome'], string>

const shown = ({ process_id, host, pid, outcome, lines }: Outcome): string =>
  [`server ${process_id} on ${host}, pid ${pid}: ${outcomeInWords[outcome]}`, ...lines.map((line) => `  ${line}`)].join(
    '\n',
  )
