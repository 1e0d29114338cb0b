/** What is typed, and what the page says is printed then. */
export interface TypedCommand {
  readonly typed: string
  readonly printed: readonly string[]
}

/** The commands of a `console` block: lines after `$ `, each with the lines that follow it. */
export function typedCommands(block: string): TypedCommand[] {
  return block
    .split(/^\$ /m)
    .slice(1)
    .map((part) => {
      const [typed = '', ...printed] = part.split('\n')
      return { typed, printed: printed.filter((line) => line.trim() !== '') }
    })
}

/**
 * What differs between what a page says is printed and what was: lines of the page that were not printed, and lines
 * that were printed and are not on the page, unless the page has a line `…`. An `…` inside a line stands for anything,
 * runs of spaces count as one, and the order of lines does not count: errors and results come on two streams.
 */
export function differences({ printed }: TypedCommand, output: string): string[] {
  const seen = output.split('\n').map(plain).filter(Boolean)
  const said = printed.map(plain)
  const complete = !said.includes('…')
  const patterns = said.filter((line) => line !== '…').map((line) => ({ line, pattern: patternOf(line) }))
  return [
    ...patterns
      .filter(({ pattern }) => !seen.some((line) => pattern.test(line)))
      .map(({ line }) => `missing: ${line}, in: ${seen.join(' | ')}`),
    ...seen
      .filter((line) => complete && !patterns.some(({ pattern }) => pattern.test(line)))
      .map((line) => `not on the page: ${line}`),
  ]
}

const plain = (line: string): string => line.trim().replaceAll(/\s+/g, ' ')
const patternOf = (line: string): RegExp => new RegExp(`^${line.split('…').map(RegExp.escape).join('.*')}$`)
