import { type ErrorCode, Fault } from '../kernel/errors.ts'
import { type ExitCode, exitCodes, ProgramFault } from '../terminal/exit-codes.ts'

/** What a verb refuses at the API is a conflict at the terminal, in the same words; `others` are codes that end otherwise. */
export async function refusedPlainly<T>(
  work: Promise<T>,
  others: Readonly<Partial<Record<ErrorCode, ExitCode>>> = {},
): Promise<T> {
  return work.catch((cause: unknown) => {
    if (cause instanceof Fault)
      throw new ProgramFault(others[cause.code] ?? exitCodes.conflict, cause.message, { cause })
    throw cause
  })
}
