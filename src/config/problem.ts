/** One thing that is wrong with the settings, told so that the operator can mend it without reading code. */
export interface Problem {
  /** `file:line`, or the name of the environment variable. */
  readonly where: string
  /** What is wrong. Never the value of a secret. */
  readonly problem: string
  /** What to do about it. */
  readonly fix: string
}

/** The settings cannot be used. Carries every problem that was found, not only the first. */
export class ConfigurationFault extends Error {
  override name = 'ConfigurationFault'
  readonly problems: readonly Problem[]

  constructor(problems: readonly Problem[]) {
    const count = problems.length === 1 ? '1 problem' : `${problems.length} problems`
    const lines = problems.map(({ where, problem, fix }) => `  ${where}: ${problem} ${fix}`)
    super(`${count} in the configuration:\n${lines.join('\n')}`)
    this.problems = problems
  }
}
