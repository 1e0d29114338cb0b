/** A fault put into the money code on purpose, which some test of the project must notice. */
export interface Mutant {
  /** A file of db/functions. */
  readonly file: string
  /** What stands there, exactly once. */
  readonly text: string
  readonly replacement: string
  /** What would go wrong with anybody's money. */
  readonly why: string
  /** The test file that is likeliest to notice. */
  readonly first: string
  /** Why nothing can come of it, for the few that change no result: it is applied all the same, and reported apart. */
  readonly harmless?: string
}

/** The file with the fault in it. Throws where the text is not there exactly once: the table must follow the code. */
export function mutated(source: string, mutant: Mutant): string {
  const parts = source.split(mutant.text)
  if (parts.length !== 2)
    throw new Error(`${mutant.file} has "${mutant.text}" ${parts.length - 1} times: mend its row in test/mutants`)
  return parts.join(mutant.replacement)
}
