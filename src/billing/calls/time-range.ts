import { Fault } from '../../kernel/errors.ts'

/** A span of time: `from` belongs to it, `to` does not. Undefined is no bound. */
export interface TimeRange {
  readonly from: Date | undefined
  readonly to: Date | undefined
}

/** Reads `from` and `to` of a query (RFC 3339). Refuses times that do not exist and ranges that end before they begin. */
export function timeRange(query: { readonly from?: string | undefined; readonly to?: string | undefined }): TimeRange {
  const range = { from: moment('from', query.from), to: moment('to', query.to) }
  if (range.from && range.to && range.from >= range.to) {
    throw new Fault('invalid_parameter', { message: 'The parameter to must be later than from.' })
  }
  return range
}

function moment(name: string, text: string | undefined): Date | undefined {
  if (text === undefined) return undefined
  const time = new Date(text)
  if (Number.isNaN(time.getTime())) {
    throw new Fault('invalid_parameter', {
      message: `The parameter ${name} is not a time such as 2026-01-31T00:00:00Z.`,
    })
  }
  return time
}
