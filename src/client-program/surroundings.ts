import type { Command } from 'commander'
import type { ProgramSurroundings } from '../app/surroundings.ts'
import { print } from '../terminal/output.ts'

/** Where the user sits, as main.ts finds it: a terminal, a pipe, or one of each. */
export interface ClientTerminal {
  readonly stdinIsTerminal: boolean
  readonly stdoutIsTerminal: boolean
  /** The first line of standard input; empty when there is none. */
  readLine(): Promise<string>
  /** The same, unseen while it is typed. */
  readSecret(): Promise<string>
  /** All of standard input. */
  readAll(): Promise<string>
  /** Waits; rejects with the signal's reason once it is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/** What the commands for users stand on. */
export type ClientSurroundings = ProgramSurroundings & ClientTerminal

/** Adds the commands of one noun. */
export type AddClientCommands = (program: Command, here: ClientSurroundings) => void

/** How a result is printed: JSON when asked, and by default when no person reads it. */
export interface OutputOptions {
  readonly json?: boolean
}

/** `--json` and `--no-json`. */
export const withOutput = (command: Command): Command =>
  command
    .option('--json', 'print JSON, amounts in microcredits; the default in a pipe')
    .option('--no-json', 'print for people; the default on a terminal')

/** True when the result is for a program. */
export const isForPrograms = (here: ClientTerminal, { json }: OutputOptions): boolean => json ?? !here.stdoutIsTerminal

/** Prints a result in the form that was asked for. */
export function show(
  here: ClientSurroundings,
  options: OutputOptions,
  result: { readonly data: unknown; readonly text: string },
): void {
  print(here, { json: isForPrograms(here, options) }, result)
}
