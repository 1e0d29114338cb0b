/** The least, the middle and the greatest of some values. */
export interface Spread {
  readonly min: number
  readonly median: number
  readonly max: number
}

/** The middle value; of an even number the mean of the middle two. Refuses an empty list. */
export function median(values: readonly number[]): number {
  return percentile(values, 50)
}

/** The value below which `percent` of all lie, interpolated between neighbours. Refuses an empty list. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((left, right) => left - right)
  const place = ((sorted.length - 1) * percent) / 100
  const below = sorted[Math.floor(place)]
  const above = sorted[Math.ceil(place)]
  if (below === undefined || above === undefined) throw new RangeError('no values to choose from')
  return below + (above - below) * (place - Math.floor(place))
}

/** Least, middle and greatest; undefined when there is nothing. */
export function spread(values: readonly number[]): Spread | undefined {
  if (values.length === 0) return undefined
  return { min: Math.min(...values), median: median(values), max: Math.max(...values) }
}
