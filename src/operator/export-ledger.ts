import type { Database } from '../db/database.ts'
import { BLOCK_LINES, createChain, FORMAT } from './export-format.ts'
import { type AccountSpan, accountSpans, type LedgerRow, movementsOf } from './store/ledger-export.ts'

/** Accounts that are looked up at once, and how many movements of each come with them. */
const ACCOUNTS = 200
const FIRST_MOVEMENTS = 25
/** Movements of one account that are read, and so held in memory, at once. */
const PAGE = 5000

/** What an export came to. */
export interface Exported {
  readonly accounts: number
  readonly movements: number
  /** Of the whole chain: one that was noted proves later that a file is the one that was written. */
  readonly hash: string
}

/**
 * The ledger of a closed range as text, a piece at a time: by account, each with its opening and closing balance, then
 * the totals. The same range gives the same text, byte for byte: it is made of rows that never change.
 */
export async function* exportLedger(
  db: Database,
  range: { from: Date; to: Date },
  progress: (movements: number) => void,
): AsyncGenerator<string, Exported> {
  const chain = createChain()
  const totals = createTotals()
  yield chain.add({
    line: 'head',
    format: FORMAT,
    from: range.from.toISOString(),
    to: range.to.toISOString(),
    unit: 'microcredits',
    block_lines: BLOCK_LINES,
  })
  for (let after = 0n; ; ) {
    const spans = await accountSpans(db, { after, ...range, limit: ACCOUNTS })
    const first = Map.groupBy(
      await movementsOf(
        db,
        spans.filter((span) => span.from_id < span.before_id),
        FIRST_MOVEMENTS,
      ),
      (row) => row.account_id,
    )
    for (const span of spans) {
      const rows = first.get(span.id) ?? []
      if (rows.length === 0 && span.opening_micro === 0n) continue
      let balance = span.opening_micro
      let count = 0
      yield chain.add({
        line: 'account',
        account_id: Number(span.id),
        account_type: span.account_type,
        opening_micro: String(balance),
      })
      for await (const page of pagesOf(db, span, rows)) {
        let text = ''
        for (const row of page) {
          text += chain.add(movementLine(row))
          totals.add(row)
          balance = row.balance_after_micro
        }
        count += page.length
        yield text
        progress(totals.movements)
      }
      yield chain.add({
        line: 'closing',
        account_id: Number(span.id),
        movements: count,
        closing_micro: String(balance),
      })
      totals.close(span.opening_micro, balance)
    }
    after = spans.at(-1)?.id ?? after
    if (spans.length < ACCOUNTS) break
  }
  const { text, hash } = chain.end(totals.line())
  yield text
  return { accounts: totals.accounts, movements: totals.movements, hash }
}

/** What came with the account, then the rest of a long one. */
async function* pagesOf(
  db: Database,
  span: AccountSpan,
  first: readonly LedgerRow[],
): AsyncGenerator<readonly LedgerRow[]> {
  if (first.length > 0) yield first
  for (let page = first, size = FIRST_MOVEMENTS; page.length === size; size = PAGE) {
    page = await movementsOf(db, [{ ...span, from_id: (page.at(-1)?.id ?? 0n) + 1n }], PAGE)
    if (page.length > 0) yield page
  }
}

function createTotals() {
  const kinds: Record<string, bigint> = { grant: 0n, capture: 0n, refund: 0n, expiry: 0n, reversal: 0n }
  const sides: Record<string, bigint> = {}
  let [opening, closing] = [0n, 0n]
  let [accounts, movements] = [0, 0]
  const digits = (sums: Record<string, bigint>) =>
    Object.fromEntries(
      Object.entries(sums)
        .sort()
        .map(([name, sum]) => [name, String(sum)]),
    )
  return {
    get accounts() {
      return accounts
    },
    get movements() {
      return movements
    },
    add(row: LedgerRow): void {
      movements += 1
      kinds[row.kind] = (kinds[row.kind] ?? 0n) + row.amount_micro
      sides[row.other_side] = (sides[row.other_side] ?? 0n) + (row.is_credit ? -row.amount_micro : row.amount_micro)
    },
    close(from: bigint, to: bigint): void {
      accounts += 1
      opening += from
      closing += to
    },
    line: () => ({
      accounts,
      movements,
      opening_micro: String(opening),
      closing_micro: String(closing),
      kinds: digits(kinds),
      system_accounts: digits(sides),
    }),
  }
}

/** A movement from debit to credit: one of them a bucket of the account, the other a system account. */
function movementLine(row: LedgerRow) {
  const bucket = `bucket:${row.bucket_id}`
  return {
    line: 'movement',
    account_id: Number(row.account_id),
    id: Number(row.id),
    at: row.at,
    kind: row.kind,
    amount_micro: String(row.amount_micro),
    debit: row.is_credit ? row.other_side : bucket,
    credit: row.is_credit ? bucket : row.other_side,
    bucket: row.bucket,
    balance_after_micro: String(row.balance_after_micro),
    source: sourceOf(row),
  } as const
}

/** Where a movement comes from: an order or payment, what else gave Credits, a call, a refund, or the end of a bucket. */
function sourceOf(row: LedgerRow): Readonly<Record<string, unknown>> {
  const call = () => ({
    call_id: Number(row.call_id),
    request_id: row.request_id,
    model: row.model,
    actor_account_id: Number(row.actor_account_id),
    key_id: row.key_id === null ? null : Number(row.key_id),
  })
  switch (row.kind) {
    case 'grant':
    case 'reversal':
      return {
        type: row.grant_source === 'x402' || row.grant_source === 'axon' ? 'payment' : row.grant_source,
        rail: row.grant_source,
        id: row.grant_source_id,
        ...(row.tx_hash === null
          ? {}
          : { chain_id: Number(row.chain_id), tx_hash: row.tx_hash, log_position: row.log_position }),
      }
    case 'capture':
      return { type: 'call', ...call() }
    case 'refund':
      return { type: 'refund', refund_id: Number(row.refund_id), ...call() }
    case 'expiry':
      return { type: 'expiry' }
  }
}
