import type { Database, Tx } from '../../db/database.ts'
import { type Action, actions } from './actions.ts'
import {
  breakAt,
  exported,
  FIRST_HASH,
  hashOf,
  type LogEntry,
  type LogRow,
  type Recordable,
  recordedJson,
  recordedText,
} from './chain.ts'
import * as store from './store.ts'

/** Who acted. */
export type Actor =
  | { readonly kind: 'operator'; readonly name: string }
  | { readonly kind: 'account'; readonly id: bigint }
  /** A part of the server that acts by itself, such as `upkeep`. */
  | { readonly kind: 'system'; readonly name: string }

/** Who acts as an operator: somebody at a terminal of the server, or an admin signed in to the console. */
export type Operator = Exclude<Actor, { readonly kind: 'system' }>

/** The operator in one word, as grants, holds and reviews keep it: `operator:ada` at a terminal, `account:7` in the console. */
export const operatorName = (operator: Operator): string =>
  operator.kind === 'operator' ? `operator:${operator.name}` : `account:${operator.id}`

/** Something that was done. Its time is the database's. */
export interface AuditEntry {
  readonly actor: Actor
  readonly action: Action
  /** The id of what it was done to; of what kind that is, the action says. */
  readonly targetId: bigint | string
  /** What changed, as far as a reader needs it. Never a secret: known shapes of secrets are replaced. */
  readonly before?: Recordable
  readonly after?: Recordable
  readonly reason?: string | undefined
  readonly requestId?: string | undefined
}

/**
 * Appends an entry to the audit log inside the caller's transaction: it is there exactly when what it tells has
 * happened. Call it last: it locks the end of the log until the transaction ends, so whoever takes another lock
 * after it can deadlock. Never on the path of a billed call.
 */
export async function recordAction(tx: Tx, entry: AuditEntry): Promise<void> {
  const head = await store.lockHead(tx)
  const row: LogEntry = {
    id: head.id + 1n,
    at: head.at,
    actor_kind: entry.actor.kind,
    actor: recordedText(nameOf(entry.actor)),
    action: entry.action,
    target_kind: actions[entry.action],
    target_id: recordedText(String(entry.targetId)),
    before: recordedJson(entry.before),
    after: recordedJson(entry.after),
    reason: entry.reason === undefined ? null : recordedText(entry.reason),
    request_id: entry.requestId ?? null,
    previous_hash: head.hash,
  }
  await store.append(tx, { ...row, hash: hashOf(row) })
}

/** `operator:<name>`, as the ledger names those who grant; an account by its id; a part of the server by its name. */
function nameOf(actor: Actor): string {
  if (actor.kind === 'account') return String(actor.id)
  return actor.kind === 'operator' ? `operator:${actor.name}` : actor.name
}

/** What a check of the whole log found. */
export interface Verification {
  readonly rows: number
  /** The last row of the chain, to be noted elsewhere: whoever can rewrite the table can make a new chain, but not with this hash in it. */
  readonly head: { readonly id: bigint; readonly hash: string }
  /** The first row that is not as it was written, and how that shows. */
  readonly broken: { readonly id: bigint; readonly problem: string } | undefined
}

const PAGE = 1_000

/** Which part of the log to check. */
interface Part {
  /** The row that it follows, which counts as checked; absent, the part begins with the first row. */
  readonly after?: bigint
  /** As many rows at most; absent, all that there are. */
  readonly limit?: number
  /** A head that was noted earlier, which must still be part of the chain. */
  readonly expected?: { readonly id: bigint; readonly hash: string } | undefined
}

/** Reads the whole log in one snapshot and checks every row against the one before it. */
export async function verifyAuditLog(db: Database, expected?: Part['expected']): Promise<Verification> {
  const { whole: _, ...found } = await verifyPartOfAuditLog(db, { expected })
  return found
}

/**
 * The same for a part of it, so that a long log can be checked piece by piece: `whole` is true when the part reaches its
 * end, which is compared with the end that is noted. Pieces prove what the whole does, as long as each begins where the
 * one before it ended.
 */
export async function verifyPartOfAuditLog(
  db: Database,
  { after = 0n, limit = Number.POSITIVE_INFINITY, expected }: Part,
): Promise<Verification & { readonly whole: boolean }> {
  return inSnapshot(db, async (tx) => {
    const from = after === 0n ? FIRST_HASH : await store.hashAt(tx, after)
    let last: store.Head = { id: after, hash: from ?? FIRST_HASH }
    let rows = 0
    const result = (broken: Verification['broken'], whole = false) => ({
      rows,
      head: { id: last.id, hash: last.hash.toString('hex') },
      broken,
      whole,
    })
    if (from === undefined) return result({ id: after, problem: `row ${after} is not there` })
    for await (const row of rowsAfter(tx, after)) {
      if (rows === limit) return result(undefined)
      const problem =
        breakAt(row, last) ??
        (expected?.id === row.id && expected.hash !== row.hash.toString('hex')
          ? 'it is not the row that was noted under this id'
          : undefined)
      if (problem !== undefined) return result({ id: row.id, problem })
      last = { id: row.id, hash: row.hash }
      rows++
    }
    return result(wrongEnd(last, await store.head(tx), expected), true)
  })
}

/** What is wrong with the end of the log; undefined when nothing is. */
function wrongEnd(last: store.Head, noted: store.Head | undefined, expected: Part['expected']): Verification['broken'] {
  if (!noted || noted.id !== last.id || !noted.hash.equals(last.hash))
    return {
      id: last.id + 1n,
      problem: `the log ends with row ${last.id}, but ${noted ? `row ${noted.id}` : 'nothing'} is noted as its end: rows were removed or added`,
    }
  if (expected && expected.id > last.id)
    return { id: last.id + 1n, problem: `the log ends before row ${expected.id}, which was noted` }
  return undefined
}

/** Gives every row of one snapshot, oldest first, as the JSON object that its hash covers, with the hash. */
export async function exportAuditLog(
  db: Database,
  each: (row: Record<string, unknown>) => void | Promise<void>,
): Promise<void> {
  await inSnapshot(db, async (tx) => {
    for await (const row of rowsAfter(tx, 0n)) await each(exported(row))
  })
}

/** The newest entries that match, newest first. */
export async function listAuditLog(db: Database, filter: store.Filter): Promise<LogRow[]> {
  return store.newest(db, filter)
}

async function inSnapshot<T>(db: Database, work: (tx: Tx) => Promise<T>): Promise<T> {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (tx) => {
      await store.takeYourTime(tx)
      return work(tx)
    })
}

async function* rowsAfter(tx: Tx, first: bigint): AsyncGenerator<LogRow> {
  for (let after = first; ; ) {
    const page = await store.rows(tx, { after, limit: PAGE })
    yield* page
    const end = page.at(-1)
    if (end === undefined || page.length < PAGE) return
    after = end.id
  }
}
