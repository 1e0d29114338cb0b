import { createHash } from 'node:crypto'

/** Numbers that look random and depend on nothing but a text. */
export interface Chance {
  /** From `low` up to but without `high`. */
  between(low: number, high: number): number
  /** A whole number from 0 up to but without `count`. */
  below(count: number): number
}

/** Starts the numbers that belong to `text`. */
export function chanceOf(text: string): Chance {
  let state = createHash('sha256').update(text).digest().readUInt32LE()
  // mulberry32: 32 bits of state are plenty for a picture
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  return {
    between: (low, high) => low + next() * (high - low),
    below: (count) => Math.floor(next() * count),
  }
}

/** Smooth noise along a line: about -1 to 1, one hill for each unit of `at`, the same for the same chance. */
export function hills(chance: Chance, octaves: number): (at: number) => number {
  const tables = Array.from({ length: octaves }, () => Float64Array.from({ length: 64 }, () => chance.between(-1, 1)))
  return (at) => {
    let sum = 0
    let [scale, weight] = [1, 0.6]
    for (const table of tables) {
      const place = at * scale
      const left = Math.floor(place)
      const part = place - left
      const smooth = part * part * (3 - 2 * part)
      const [a = 0, b = 0] = [table[left & 63], table[(left + 1) & 63]]
      sum += weight * (a + (b - a) * smooth)
      scale *= 2.1
      weight *= 0.5
    }
    return sum
  }
}
