import { exitCodes, ProgramFault } from '../terminal/exit-codes.ts'
import type { ClientSurroundings } from './surroundings.ts'

/** Goes on when `--yes` was given or a person says so. Without a terminal nobody is asked: exit code 2. */
export async function confirmed(
  here: ClientSurroundings,
  { yes }: { readonly yes?: boolean },
  question: string,
): Promise<void> {
  if (yes) return
  if (!here.stdinIsTerminal)
    throw new ProgramFault(exitCodes.usage, `${question}\nNobody is there to ask: say --yes. Nothing was done.`)
  here.writeError(`${question} [y/N] `)
  if (!/^y(es)?$/i.test((await here.readLine()).trim())) throw new ProgramFault(exitCodes.usage, 'Nothing was done.')
}
