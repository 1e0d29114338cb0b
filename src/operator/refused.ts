import { Fault } from '../kernel/errors.ts'
import { exitCodes, ProgramFault } from '../terminal/exit-codes.ts'

/** What a verb refuses at the API is a conflict at the terminal, in the same words. */
export async function refusedPlainly<T>(work: Promise<T>): Promise<T> {
  return work.catch((cause: unknown) => {
    if (cause instanceof Fault) throw new ProgramFault(exitCodes.conflict, cause.message, { cause })
    throw cause
  })
}
