import { open, rename, rm } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import type { ProgramSurroundings } from '../app/surroundings.ts'
import type { Database } from '../db/database.ts'
import { exitCodes, ProgramFault } from '../terminal/exit-codes.ts'
import { parseMoment } from '../terminal/options.ts'
import { type Exported, exportLedger } from './export-ledger.ts'
import type { AddCommands } from './program.ts'
import { withDatabase } from './session.ts'
import { closedUntil } from './store/ledger-export.ts'

interface Options {
  readonly from: Date
  readonly to: Date
  readonly out?: string
}

/** How long a transaction that began before the range's end is waited for. */
const PATIENCE_MS = 120_000
const ASK_AGAIN_MS = 200
/** A range may end this long ago: see ledger_close_time(). */
const MARGIN_MS = 60_000
/** Movements after which a running export shows where it is. */
const SIGN_EVERY = 100_000
/** Text that is collected before it is written. */
const CHUNK = 262_144

/** `farebox export ledger`: every movement of a range in a file that needs no trust in us to be checked. */
export const exportCommands: AddCommands = (program, around) => {
  program
    .command('export')
    .description('write what accountants need')
    .command('ledger')
    .description('write every movement of a range as JSON lines in a chain of blocks; farebox verify checks them')
    .requiredOption('--from <time>', 'first moment: 2027-01-01 (UTC) or 2027-01-01T00:00:00Z', parseMoment)
    .requiredOption('--to <time>', 'first moment that is not in it any more, at least a minute ago', parseMoment)
    .option('--out <file>', 'where to; standard output when absent')
    .action(async ({ from, to, out }: Options) => {
      refuseRange(around, from, to)
      const { accounts, movements, hash } = await withDatabase(around, 'exporting the ledger', async ({ db }) => {
        await waitUntilClosed(db, to)
        const text = exportLedger(db, { from, to }, signs(around))
        return out === undefined ? writeOut(around, text) : writeFile(out, text)
      })
      const said = `${movements} movements of ${accounts} accounts${out === undefined ? '' : ` are in ${out}`}.\nHash of the chain: ${hash}\nNote it apart from the file: farebox verify --hash proves later that this is the file.\n`
      if (out === undefined) around.writeError(said)
      else around.write(said)
    })
}

function refuseRange({ clock }: ProgramSurroundings, from: Date, to: Date): void {
  if (from >= to) throw new ProgramFault(exitCodes.usage, '--to must be later than --from.')
  if (to.getTime() > clock.now().getTime() - MARGIN_MS) {
    throw new ProgramFault(
      exitCodes.usage,
      '--to must be at least a minute ago: what is newer may still gain movements, and the same range must give the same file.',
    )
  }
}

/** The range is complete once nothing can be stamped in it any more. */
async function waitUntilClosed(db: Database, to: Date): Promise<void> {
  for (let waited = 0; (await closedUntil(db)) < to; waited += ASK_AGAIN_MS) {
    if (waited >= PATIENCE_MS) {
      throw new ProgramFault(
        exitCodes.conflict,
        'A transaction that began before --to is still running, a backup perhaps. Run this again when it has ended, or with an earlier --to.',
      )
    }
    await pause(ASK_AGAIN_MS)
  }
}

function signs(around: ProgramSurroundings): (movements: number) => void {
  let next = SIGN_EVERY
  return (movements) => {
    if (movements < next) return
    around.writeError(`… ${movements} movements\n`)
    next = movements + SIGN_EVERY
  }
}

async function writeOut(around: ProgramSurroundings, text: AsyncGenerator<string, Exported>): Promise<Exported> {
  return drain(text, async (chunk) => {
    around.write(chunk)
    await around.written()
  })
}

/** Written beside its place and moved there when it is whole, so that no half of a file is taken for one. */
async function writeFile(path: string, text: AsyncGenerator<string, Exported>): Promise<Exported> {
  const partial = `${path}.partial`
  const file = await open(partial, 'w', 0o600)
  try {
    const exported = await drain(text, async (chunk) => {
      await file.appendFile(chunk)
    })
    await file.sync()
    await file.close()
    await rename(partial, path)
    return exported
  } catch (error) {
    await file.close().catch(() => undefined)
    await rm(partial, { force: true })
    throw error
  }
}

async function drain(
  text: AsyncGenerator<string, Exported>,
  write: (chunk: string) => Promise<void>,
): Promise<Exported> {
  let chunk = ''
  for (;;) {
    const { done, value } = await text.next()
    if (!done) chunk += value
    if (chunk.length >= CHUNK || done) {
      await write(chunk)
      chunk = ''
    }
    if (done) return value
  }
}
