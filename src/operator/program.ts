import { Command } from 'commander'
import type { ProgramSurroundings } from '../app/surroundings.ts'
import { exitCodes } from '../terminal/exit-codes.ts'
import { explain } from './explain.ts'

/** Adds commands to the program. Every file of this folder exports one such function for its noun. */
export type AddCommands = (program: Command, around: ProgramSurroundings) => void

/** Runs the `farebox` program with these arguments; gives its exit code. What failed is said on stderr, with what to do. */
export async function runProgram(
  args: readonly string[],
  around: ProgramSurroundings,
  commands: readonly AddCommands[],
): Promise<number> {
  const program = new Command('farebox')
    .description('A self-hosted, credit-billed API service.')
    .version(around.version)
    .exitOverride()
  // what the user typed comes back in these texts, and it may be a key in the wrong place
  const writeErr = (text: string): void => around.writeError(withoutPrivateKeys(withoutKeys(text)))
  program
    .configureOutput({ writeOut: around.write, writeErr })
    .showHelpAfterError('Add --help to see what it takes.')
    .enablePositionalOptions()
  for (const add of commands) add(program, around)
  try {
    await program.parseAsync([...args], { from: 'user' })
    return exitCodes.ok
  } catch (error) {
    // commander has already said what is wrong with the arguments; asked for help, it gives 0
    if (
      error instanceof Error &&
      'exitCode' in error &&
      'code' in error &&
      String(error.code).startsWith('commander.')
    ) {
      return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage
    }
    const { message, exitCode } = explain(error)
    if (message !== '') around.writeError(`${withoutKeys(message)}\n`)
    return exitCode
  }
}

const withoutKeys = (text: string): string =>
  text.replace(/\b(fbx|whsec|inv|dlg|dvc)_[0-9A-Za-z+/=_-]+/g, '$1_…').replace(/\beyJ[\w-]+\.[\w.-]+/g, 'eyJ…')

/** A private key looks like the hash of a transaction, which our own messages may name; a wrong argument may be either. */
const withoutPrivateKeys = (text: string): string => text.replace(/\b(0x)?[0-9a-f]{64}\b/gi, '<64 digits>')
