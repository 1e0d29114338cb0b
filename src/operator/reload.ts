import { reloadServers as askServers, type ServerOutcome } from '../administration/prices/reload.ts'
import type { ProgramSurroundings } from '../app/surroundings.ts'
import type { Database } from '../db/database.ts'
import { running } from '../ledger/processes.ts'
import { exitCodes, ProgramFault } from '../terminal/exit-codes.ts'
import { print } from '../terminal/output.ts'
import { withDatabase } from './session.ts'

/** Has the servers of this host read the configuration again, and prints what changed. Refuses when one of them refused. */
export async function reloadServers(around: ProgramSurroundings, options: { json?: boolean }): Promise<void> {
  const outcomes = await withDatabase(around, 'waiting for the servers', async ({ db, operator }) => {
    const { clock, host, isRunning, environment } = around
    const file = environment.FAREBOX_CONFIG || 'farebox.yaml'
    const asked = await askServers({ db, clock, host, file, isRunning, ask: asking(around) }, { operator })
    return asked.length > 0 ? asked : nobody(around, db)
  })
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

async function nobody(around: ProgramSurroundings, db: Database): Promise<never> {
  const servers = await running(db)
  throw new ProgramFault(
    exitCodes.failed,
    servers.every(({ host }) => host === around.host)
      ? 'No server runs on this database. It reads the file when it starts.'
      : `No server of this database runs on this host. Run this on ${[...new Set(servers.map(({ host }) => host))].join(', ')}.`,
  )
}

const asking =
  (around: ProgramSurroundings) =>
  (pid: number): boolean => {
    try {
      around.askToReload(pid)
      return true
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
} as const satisfies Record<ServerOutcome['outcome'], string>

const shown = ({ process_id, host, pid, outcome, lines }: ServerOutcome): string =>
  [`server ${process_id} on ${host}, pid ${pid}: ${outcomeInWords[outcome]}`, ...lines.map((line) => `  ${line}`)].join(
    '\n',
  )
