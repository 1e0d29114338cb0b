/** The columns of a statement file, in order. Amounts are whole microcredits, signed from the account's side. */
export const HEADER = [
  'id',
  'created_at',
  'kind',
  'amount_micro',
  'bucket',
  'balance_after_micro',
  'call_id',
  'model',
  'actor_account_id',
  'key_id',
  'refund_id',
  'grant_source',
  'grant_source_id',
] as const

/**
 * One line of RFC 4180 with its end. Integers are written as they are; text is quoted where needed, and text that
 * a spreadsheet would take for a formula gets an apostrophe in front, so that opening a file never runs anything.
 */
export function line(cells: ReadonlyArray<string | bigint | null>): string {
  return `${cells.map(cell).join(',')}\r\n`
}

function cell(value: string | bigint | null): string {
  if (typeof value !== 'string') return value === null ? '' : value.toString()
  const text = /^[=+\-@\t\r\n]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
