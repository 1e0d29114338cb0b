import { Command } from 'commander'
import type { ProgramSurroundings } from '../app/surroundings.ts'

/** Adds commands to the program. Every file of this folder exports one such function for its noun. */
export type AddCommands = (program: Command, around: ProgramSurroundings) => void

/** Runs the `farebox` program with these arguments; gives its exit code. What failed is said on stderr, with what to do. */
export async function runProgram(args: readonly string[], around: ProgramSurroundings, commands: readonly AddCommands[]): Promise<number> {
  const program = new Command('farebox').description('A self-hosted, credit-billed API service.').version(around.version).exitOverride()
  program.configureOutput({ writeOut: around.write, writeErr: around.writeError }).showHelpAfterError().enablePositionalOptions()
  for (const add of commands) add(program, around)
  try {
    await program.parseAsync([...args], { from: 'user' })
    return 0
  } catch (error) {
    // commander has already said what is wrong with the arguments
    if (error instanceof Error && 'exitCode' in error) return Number(error.exitCode)
    around.writeError(`${error instanceof Error ? error.message : String(error)}\n`)
    return 1
  }
}
