import { inCredits, toJsonInteger } from '../kernel/money.ts'

/** Prints a result: `data` as JSON when asked, else `text`. Amounts and ids may be bigint, times Date. */
export function print(
  around: { readonly write: (text: string) => void },
  options: { readonly json?: boolean },
  result: { data: unknown; text: string },
): void {
  around.write(options.json ? `${JSON.stringify(result.data, inJson, 2)}\n` : `${result.text}\n`)
}

/** Aligned columns under a head. Columns named in `right` are numbers. */
export function table(
  head: readonly string[],
  rows: ReadonlyArray<readonly string[]>,
  right: readonly string[] = [],
): string {
  const lines = [head, ...rows.map((row) => row.map(shown))]
  const widths = head.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)))
  return lines
    .map((line) =>
      line
        .map((cell, column) =>
          right.includes(head[column] ?? '') ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
        )
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** One line for each name and value, aligned; what is undefined or null is left out. */
export function fields(entries: ReadonlyArray<readonly [string, string | null | undefined]>): string {
  const present = entries.filter((entry): entry is readonly [string, string] => typeof entry[1] === 'string')
  const width = Math.max(...present.map(([name]) => name.length))
  return present.map(([name, value]) => `${name.padEnd(width)}  ${shown(value)}`).join('\n')
}

/** An amount for people, in both units: `1.5 Credits (1500000 micro)`. */
export const amount = (micro: bigint): string => `${inCredits(micro)} Credits (${micro} micro)`

/** A time for people: `2026-01-31 12:00:00Z`. */
export const time = (at: Date): string =>
  at
    .toISOString()
    .replace('T', ' ')
    .replace(/\.\d+Z$/, 'Z')

/** How long ago, in its largest unit: `3 d`, `2 h`, `5 min`, `9 s`. */
export function age(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds))
  if (whole >= 172_800) return `${Math.floor(whole / 86_400)} d`
  if (whole >= 7200) return `${Math.floor(whole / 3600)} h`
  return whole >= 120 ? `${Math.floor(whole / 60)} min` : `${whole} s`
}

/** Names and labels are other people's text: what would steer the terminal is shown as a question mark. */
const shown = (text: string): string => text.replace(/[\p{Cc}\p{Cf}]/gu, '?')

const inJson = (_key: string, value: unknown): unknown => (typeof value === 'bigint' ? toJsonInteger(value) : value)
