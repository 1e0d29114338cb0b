/** What the program's end tells a script. docs/operator.md and docs/command-line.md list them. */
export const exitCodes = {
  ok: 0,
  failed: 1,
  usage: 2,
  auth: 3,
  credits: 4,
  conflict: 5,
  review: 6,
  unavailable: 7,
} as const

/** One of the exit codes. */
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]

/** A command that did not do what was asked. The message says why and what to do next; it never holds a secret. Empty: everything has been said. */
export class ProgramFault extends Error {
  override name = 'ProgramFault'
  readonly exitCode: ExitCode

  constructor(exitCode: ExitCode, message: string, options: { cause?: unknown } = {}) {
    super(message, options)
    this.exitCode = exitCode
  }
}
