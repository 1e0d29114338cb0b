import type { Database } from '../../db/database.ts'
import { find } from '../../identity/accounts/store.ts'
import { Fault } from '../../kernel/errors.ts'
import { PROPOSAL_LIFETIME_MS } from '../../payments/orders/review/agreement.ts'
import type { Action, Decided, Decision, ReviewDeps } from '../../payments/orders/review/decision.ts'
import type { By } from '../by.ts'
import { nativeReviews } from './kinds/native.ts'
import { orderReviews } from './kinds/orders.ts'
import type { CoinNames, Kind, Review, ReviewKind, Waiting } from './kinds/review.ts'
import { transferReviews } from './kinds/transfers.ts'
import { x402Reviews } from './kinds/x402.ts'
import { type Named, parseName } from './names.ts'

/** How a chain is, as this server sees it. */
export interface ChainState {
  readonly healthy: boolean
  /** Why it is not, or how far it was read. */
  readonly detail: string
  readonly readAt: Date | undefined
}

/** What reviews need. */
export interface ReviewsDeps extends ReviewDeps {
  /** What the native coin is called; undefined where none is taken. */
  readonly coin: CoinNames | undefined
  /** How the chain of a payment is. undefined: nothing here reads it. */
  readonly chainState: (kind: Kind, chainId: bigint) => ChainState | undefined
}

const kinds: Readonly<Record<Kind, ReviewKind>> = {
  order: orderReviews,
  transfer: transferReviews,
  native: nativeReviews,
  x402: x402Reviews,
}

/** Payments that wait for an operator, longest first, of every kind or of one. */
export async function waitingReviews(
  db: Database,
  wanted: { readonly kind: Kind | undefined; readonly limit: number },
): Promise<{ readonly reviews: readonly Waiting[]; readonly hasMore: boolean }> {
  const asked = wanted.kind === undefined ? Object.values(kinds) : [kinds[wanted.kind]]
  const found = await Promise.all(asked.map((kind) => kind.waiting(db, wanted.limit + 1)))
  const sorted = found.flat().sort((one, other) => one.openedAt.getTime() - other.openedAt.getTime())
  return { reviews: sorted.slice(0, wanted.limit), hasMore: sorted.length > wanted.limit }
}

/** What an operator may do with a payment now, and why not where not. */
export interface Possible {
  readonly action: Action
  readonly possible: boolean
  readonly whyNot: string | undefined
}

/** A payment with what may be done about it. */
export interface ReadReview {
  readonly review: Review
  readonly chain: ChainState
  readonly actions: readonly Possible[]
  /** True where its worth is above what one operator may decide. */
  readonly takesTwo: boolean
  /** Until when its proposal waits for a second operator; undefined where none stands. */
  readonly proposedUntil: Date | undefined
}

/** A payment, waiting or not. Refuses with `review_not_found`. */
export async function readReview(deps: ReviewsDeps, id: string): Promise<ReadReview> {
  const review = await kinds[named(id).kind].read(deps.db, named(id).name, deps.coin)
  if (!review) throw new Fault('review_not_found')
  const chain = deps.chainState(review.kind, review.chainId) ?? NOBODY_READS_IT
  const until = review.proposal && new Date(review.proposal.at.getTime() + PROPOSAL_LIFETIME_MS)
  return {
    review,
    chain,
    actions: review.actions.map((action) => {
      const whyNot = review.waits ? whyNotNow(review, chain, action) : 'It does not wait for a decision any more.'
      return { action, possible: whyNot === undefined, whyNot }
    }),
    takesTwo: (review.worthMicro ?? 0n) > deps.aloneLimitMicro,
    proposedUntil: until && until > deps.clock.now() ? until : undefined,
  }
}

/** Decides on a payment, by the rules of its kind. Refuses with `review_not_found`, `chain_unavailable` and theirs. */
export async function decideReview(
  deps: ReviewsDeps,
  id: string,
  wanted: Omit<Decision, 'operator' | 'reason' | 'requestId'>,
  by: By,
): Promise<Decided> {
  const { kind, name } = named(id)
  const review = await kinds[kind].read(deps.db, name, deps.coin)
  if (!review) throw new Fault('review_not_found')
  const chain = deps.chainState(kind, review.chainId) ?? NOBODY_READS_IT
  const whyNot = review.waits ? whyNotNow(review, chain, wanted.action) : undefined
  if (whyNot !== undefined) throw new Fault('chain_unavailable', { message: `${whyNot} Nothing was changed.` })
  const { accountId } = wanted
  if (accountId !== undefined) {
    if (kind !== 'transfer')
      throw new Fault('invalid_field', { message: 'The payment names its account itself: leave account_id out.' })
    if (!(await find(deps.db, accountId))) throw new Fault('account_not_found')
  }
  return kinds[kind].decide(deps, name, { ...wanted, ...by })
}

const NOBODY_READS_IT: ChainState = {
  healthy: false,
  detail: 'no asset in the configuration is on this chain, so this server does not read it',
  readAt: undefined,
}

/**
 * What the chain has to be asked about is not decided while it cannot be: Credits for what it shows, and Credits that
 * are taken back because it shows it no more.
 */
function whyNotNow(review: Review, chain: ChainState, action: Action): string | undefined {
  if (chain.healthy || (action !== 'credit' && !review.granted)) return undefined
  return `The chain cannot be read now, so what it shows may be old: ${chain.detail}.`
}

function named(id: string): Named {
  const name = parseName(id)
  if (!name) throw new Fault('review_not_found')
  return name
}
