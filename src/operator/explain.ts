import { isConnectionLost } from '../kernel/connection-lost.ts'
import { LaneLost } from '../ledger/lane.ts'
import { type ExitCode, exitCodes, ProgramFault } from '../terminal/exit-codes.ts'

/** What PostgreSQL's refusals mean to an operator, by the beginning of their SQLSTATE. */
const databaseRefusals: ReadonlyArray<readonly [state: string, exitCode: ExitCode, message: string]> = [
  ['28', exitCodes.auth, 'The database refuses this user or password. Correct DATABASE_URL.'],
  ['3D000', exitCodes.failed, 'There is no such database on the server. Create it, or correct DATABASE_URL.'],
  [
    '42501',
    exitCodes.auth,
    'The database does not let this user do that. Connect as the role that ran `farebox migrate`.',
  ],
  // the application role is not there, or not granted: migrate makes and grants it
  ['22023', exitCodes.failed, 'The database is not prepared for Farebox. Run `farebox migrate`.'],
  ['42P01', exitCodes.failed, 'The database has not the schema of this program. Run `farebox migrate`.'],
  ['42883', exitCodes.failed, 'The database has not the functions of this program. Run `farebox migrate`.'],
  ['42703', exitCodes.failed, 'The database has the schema of another version. Run `farebox migrate`.'],
  [
    '57014',
    exitCodes.failed,
    'The database took too long and was stopped; nothing was changed. Try again when it is less busy.',
  ],
  [
    '40',
    exitCodes.conflict,
    'Somebody else changed the same account at that moment; nothing was changed. Run it again.',
  ],
]

/** An error in words for a terminal, and the exit code that goes with it. */
export function explain(error: unknown): { message: string; exitCode: ExitCode } {
  if (error instanceof ProgramFault) return { message: error.message, exitCode: error.exitCode }
  if (error instanceof LaneLost) {
    return {
      message:
        'The connection to the database was lost before the answer came. Run the same command again: it is done at most once.',
      exitCode: exitCodes.unavailable,
    }
  }
  const state = String((error as { code?: unknown } | null)?.code ?? '')
  const known = databaseRefusals.find(([beginning]) => /^[0-9A-Z]{5}$/.test(state) && state.startsWith(beginning))
  if (known) return { message: known[2], exitCode: known[1] }
  if (isConnectionLost(error)) {
    return {
      message: `The database cannot be reached${state === '' ? '' : ` (${state})`}. Start it, or correct DATABASE_URL; in development, run \`npm start\` first.`,
      exitCode: exitCodes.unavailable,
    }
  }
  return {
    message: error instanceof Error ? error.message : String(error),
    exitCode: exitCodes.failed,
  }
}
