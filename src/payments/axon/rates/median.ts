/** The middle of several rates; of an even number the mean of the two in the middle, rounded down: a lower rate asks for more coins. */
export function median(rates: readonly bigint[]): bigint {
  const sorted = rates.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0))
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle] ?? 0n
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? 0n) + upper) / 2n
}

/** Those that are no further than so many percent from the median of all. */
export function withinDeviation<T extends { readonly rate: bigint }>(answers: readonly T[], percent: number): T[] {
  const middle = median(answers.map(({ rate }) => rate))
  const distance = (rate: bigint): bigint => (rate > middle ? rate - middle : middle - rate)
  return answers.filter(({ rate }) => distance(rate) * 100n <= middle * BigInt(percent))
}
