import type { Database } from '../../db/database.ts'
import { assert } from '../../kernel/assert.ts'
import type { Caller } from '../../kernel/caller.ts'
import { AFTER_EVERY_ID, idsAtMoments } from '../calls/store.ts'
import type { TimeRange } from '../calls/time-range.ts'
import * as store from './store.ts'

/** What reading Credits needs. */
export interface CreditDeps {
  readonly db: Database
}

/** A part of a balance. `owner` is what the owner lets this account spend: of which kinds it is, is the owner's matter. */
export interface BucketPart {
  readonly kind: store.FundingRow['buckets'][number]['kind'] | 'owner'
  readonly available_micro: bigint
  readonly held_micro: bigint
  readonly expires_at: string | null
}

/** Amounts in microcredits. */
export interface Amounts {
  /** Owned: posted, whether held or not. Of an owner's part: available and held. */
  readonly balance_micro: bigint
  /** What the next call may take. */
  readonly available_micro: bigint
  /** Set aside for open calls. */
  readonly held_micro: bigint
}

/** The funds of a caller (decisions 1). */
export interface Balance extends Amounts {
  readonly buckets: readonly BucketPart[]
  readonly budget: (store.Bound & { readonly scope: 'key' | 'link' }) | undefined
  /** The caller's own account, when the funding view differs from it. */
  readonly own: Amounts | undefined
}

/**
 * What the caller can spend, by the rules that a hold is granted by: the largest hold that the ledger would
 * grant now is `available_micro`, or the room of the key's budget where that is less.
 *
 * The view is the caller's own account, unless its link is `owner_only`, plus the owner's part while the owner
 * pays (linked, not `self_only`, not paused, owner active). The owner's part shows this account no more than
 * it may spend: available is the owner's available Credits or the room of the link's tightest limit, whichever
 * is less; held is what this Agent's own open calls hold of the owner, as the link's budget counts it (a link
 * without a budget counts nothing); balance is the sum of the two. It is one bucket of kind `owner`: what else
 * the owner has, holds or spends on other Agents does not show.
 *
 * An own balance is what the statement closes with. It exceeds available and held only by Credits that have
 * expired and were not swept yet.
 */
export async function balance(deps: CreditDeps, caller: Caller): Promise<Balance> {
  const row = await store.funding(
    deps.db,
    caller.accountId,
    caller.credential.kind === 'api_key' ? caller.credential.id : undefined,
  )
  assert(row, `account ${caller.accountId} has a credential and no row`)
  const own: Amounts = {
    balance_micro: row.posted_micro,
    available_micro: row.available_micro,
    held_micro: row.held_micro,
  }
  const parts: Amounts[] = []
  const buckets: BucketPart[] = []
  if (row.own_pays) {
    parts.push(own)
    for (const bucket of row.buckets) {
      buckets.push({
        ...bucket,
        available_micro: BigInt(bucket.available_micro),
        held_micro: BigInt(bucket.held_micro),
      })
    }
  }
  // of an owner that does not pay there is nothing here: both amounts are 0
  const room = row.link_bound ? BigInt(row.link_bound.room_micro) : row.owner_available_micro
  const available = room < row.owner_available_micro ? room : row.owner_available_micro
  const held = row.owner_held_micro
  parts.push({ balance_micro: available + held, available_micro: available, held_micro: held })
  if (available + held > 0n)
    buckets.push({ kind: 'owner', available_micro: available, held_micro: held, expires_at: null })
  const total = (of: (part: Amounts) => bigint) => parts.reduce((sum, part) => sum + of(part), 0n)
  return {
    balance_micro: total((part) => part.balance_micro),
    available_micro: total((part) => part.available_micro),
    held_micro: total((part) => part.held_micro),
    buckets,
    budget: binding(row),
    own: row.own_pays && !row.owner_pays ? undefined : own,
  }
}

/** The limit that leaves the next call least: the link's binds the owner's part only, so own Credits come on top of it. */
function binding(row: store.FundingRow): Balance['budget'] {
  const { key_bound: key, link_bound: link } = row
  const throughLink = link ? BigInt(link.room_micro) + (row.own_pays ? row.available_micro : 0n) : undefined
  if (key && (throughLink === undefined || BigInt(key.room_micro) <= throughLink)) return { scope: 'key', ...key }
  return link ? { scope: 'link', ...link } : undefined
}

/** A run of movements, newest first. `opening_micro` and the movements make `closing_micro`. */
export interface Statement {
  readonly opening_micro: bigint
  readonly closing_micro: bigint
  readonly movements: readonly store.MovementRow[]
  /** The `beforeId` of the next older page; 0 when there is none. */
  readonly next: bigint
}

/** Which ids a range covers. Refunds, grants and captures share one order: that of the account's transfers. */
export interface Span {
  readonly fromId: bigint
  readonly beforeId: bigint
}

/** The ids of a range of time, for `statementPage`. */
export async function statementSpan(deps: CreditDeps, caller: Caller, range: TimeRange): Promise<Span> {
  const [fromId, beforeId] = await idsAtMoments(deps.db, caller.accountId, [range.from, range.to])
  return { fromId: fromId ?? 0n, beforeId: beforeId ?? AFTER_EVERY_ID }
}

/**
 * One page of the caller's own statement, newest first. Every page closes with what the page after it (the
 * newer one) opened with; the first closes with the balance at the range's end and the last opens with the
 * balance at its beginning. Costs the page, not the history.
 */
export async function statementPage(deps: CreditDeps, caller: Caller, span: Span, limit: number): Promise<Statement> {
  const rows = await store.movements(deps.db, caller.accountId, { ...span, limit: limit + 1 })
  const page = rows.slice(0, limit)
  const newest = page[0]
  if (!newest) {
    const standing = await store.balanceBefore(deps.db, caller.accountId, span)
    return { opening_micro: standing, closing_micro: standing, movements: [], next: 0n }
  }
  const oldest = page.at(-1) ?? newest
  return {
    opening_micro: oldest.balance_after_micro - oldest.amount_micro,
    closing_micro: newest.balance_after_micro,
    movements: page,
    next: rows.length > limit ? oldest.id : 0n,
  }
}
