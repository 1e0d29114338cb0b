import { createHash } from 'node:crypto'
import canonicalize from 'canonicalize'
import { assert } from '../../kernel/assert.ts'

/** A row of the audit log without its hash, as it is hashed and exported. */
export interface LogEntry {
  readonly id: bigint
  /** RFC 3339 UTC with microseconds, as the database's clock gave it. */
  readonly at: string
  readonly actor_kind: 'operator' | 'account' | 'system'
  readonly actor: string
  readonly action: string
  readonly target_kind: string
  readonly target_id: string
  /** Canonical JSON text (RFC 8785). */
  readonly before: string | null
  readonly after: string | null
  readonly reason: string | null
  readonly request_id: string | null
  readonly previous_hash: Buffer
}

/** A row as it stands in the table. */
export interface LogRow extends LogEntry {
  readonly hash: Buffer
}

/** The hash that the first row names as the one before it. */
export const FIRST_HASH = Buffer.alloc(32)

/** The largest `before` or `after`, in characters of JSON: the log tells what changed, it does not keep copies. */
const JSON_LENGTH_MAX = 16_384

/**
 * The row as a JSON object, as `farebox audit-log export` writes it: hashes in hex, `before` and `after` as values.
 * The hash is the SHA-256 of this object without `hash`, in canonical form (RFC 8785).
 */
export function exported(row: LogEntry | LogRow): Record<string, unknown> {
  const { id, before, after, previous_hash: previousHash, ...others } = row
  return {
    ...others,
    id: Number(id),
    before: before === null ? null : (JSON.parse(before) as unknown),
    after: after === null ? null : (JSON.parse(after) as unknown),
    previous_hash: previousHash.toString('hex'),
    ...('hash' in row ? { hash: row.hash.toString('hex') } : {}),
  }
}

/** The hash of a row: over everything in it and the hash before it. */
export function hashOf(entry: LogEntry | LogRow): Buffer {
  const { hash: _hash, ...covered } = exported(entry)
  return createHash('sha256')
    .update(canonicalize(covered) ?? '')
    .digest()
}

/** What is wrong with a row that should follow `previous`; undefined when nothing is. */
export function breakAt(row: LogRow, previous: { readonly id: bigint; readonly hash: Buffer }): string | undefined {
  if (row.id !== previous.id + 1n)
    return row.id === previous.id + 2n
      ? `row ${previous.id + 1n} is missing`
      : `rows ${previous.id + 1n} to ${row.id - 1n} are missing`
  if (!row.previous_hash.equals(previous.hash))
    return 'it does not follow the row before it: one of the two was changed, or rows were exchanged'
  for (const name of ['before', 'after'] as const) {
    if (!isCanonical(row[name])) return `${name} was changed`
  }
  if (!hashOf(row).equals(row.hash)) return 'it was changed'
  return undefined
}

/** A JSON text whose reading loses nothing: so the hash over its value covers the text. */
function isCanonical(text: string | null): boolean {
  if (text === null) return true
  try {
    return canonicalize(JSON.parse(text)) === text
  } catch {
    return false
  }
}

/** What `before` and `after` may hold: amounts and ids as bigint, times as Date. */
export type Recordable =
  | string
  | number
  | boolean
  | bigint
  | Date
  | null
  | undefined
  | readonly Recordable[]
  | { readonly [name: string]: Recordable }

/** Canonical JSON of a value that is safe to keep for ever: bigints as integers, secrets replaced. */
export function recordedJson(value: Recordable): string | null {
  if (value === undefined || value === null) return null
  const text = canonicalize(recordedValue(value)) ?? null
  assert(text === null || text.length <= JSON_LENGTH_MAX, 'before and after of an audit log entry are short')
  return text
}

function recordedValue(value: Recordable): unknown {
  if (typeof value === 'bigint') {
    assert(value >= -MAX_SAFE && value <= MAX_SAFE, 'integers in the audit log are below 2^53')
    return Number(value)
  }
  if (typeof value === 'string') return recordedText(value)
  if (value instanceof Date) return value.toISOString()
  if (Array.isArray(value)) return (value as readonly Recordable[]).map((member) => recordedValue(member ?? null))
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).filter(([, member]) => member !== undefined)
  return Object.fromEntries(
    members.map(([name, member]) => [name, secretName.test(name) ? REDACTED : recordedValue(member)]),
  )
}

const MAX_SAFE = BigInt(Number.MAX_SAFE_INTEGER)
const REDACTED = '[redacted]'
/** Members that hold secrets by their name, whatever is in them. */
const secretName =
  /(^|_)(secret|password|pepper|private_key|mnemonic|access_token|refresh_token|token|secret_hash|code)$/i
/** API keys, delegations, webhook secrets, invitations and signed tokens, wherever somebody pasted them. */
const secretText =
  /\b(?:fbx|dlg|dvc|whsec|inv)_[0-9A-Za-z+/=_-]{8,}|\beyJ[0-9A-Za-z_-]+\.[0-9A-Za-z_-]+\.[0-9A-Za-z_-]*/g

/** A text as the database keeps it, with secrets replaced. */
export function recordedText(text: string): string {
  return text.toWellFormed().replaceAll('\0', '').replace(secretText, REDACTED)
}
