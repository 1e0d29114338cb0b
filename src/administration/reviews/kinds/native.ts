import type { Database } from '../../../db/database.ts'
import type { JsonObject } from '../../../db/schema.ts'
import { coinText } from '../../../payments/axon/amounts.ts'
import { claimWorth, decideClaim } from '../../../payments/axon/review/service.ts'
import * as store from '../../../payments/axon/review/store.ts'
import { type Claim, find } from '../../../payments/axon/store.ts'
import { proposalOf } from './orders.ts'
import { type CoinNames, EVENTS_SHOWN_MAX, type Review, type ReviewKind, type Waiting } from './review.ts'

/** Payments with the chain's own coin that were not credited by themselves. */
export const nativeReviews: ReviewKind = {
  waiting: async (db, limit) => (await store.waiting(db, limit)).map((claim) => inList(claim, undefined)),
  read,
  decide: (deps, name, decision) => decideClaim(deps, BigInt(name), decision),
}

const inList = (claim: Claim, coin: CoinNames | undefined): Waiting => ({
  id: `axon:${claim.id}`,
  kind: 'native',
  reason: claim.reason ?? '',
  openedAt: claim.review_opened_at ?? claim.claimed_at,
  accountId: claim.account_id,
  chainId: claim.chain_id,
  expected: undefined,
  received:
    claim.received_wei === null
      ? undefined
      : { amount: coinText(BigInt(claim.received_wei)), symbol: coin?.symbol ?? 'coins' },
})

async function read(db: Database, name: string, coin: CoinNames | undefined): Promise<Review | undefined> {
  const claim = await find(db, BigInt(name))
  if (!claim) return undefined
  const { received, expected: _, ...waiting } = inList(claim, coin)
  const [events, proposed, worth] = await Promise.all([
    store.events(db, claim.id, EVENTS_SHOWN_MAX),
    store.newestProposal(db, claim.id),
    claimWorth(db, claim),
  ])
  const { payer_address: from, recipient_address: to, block, block_at: blockAt } = claim
  return {
    ...waiting,
    status: claim.status,
    // one that failed although its value came to us may be credited all the same
    waits: claim.status === 'review_required' || (claim.status === 'failed' && claim.received_wei !== null),
    expected: undefined,
    shown:
      received && from !== null && to !== null && block !== null && blockAt !== null
        ? { ...received, from, to, txHash: claim.tx_hash, block, blockAt, note: undefined }
        : undefined,
    txHash: claim.tx_hash,
    worthMicro: claim.credited_micro ?? worth,
    granted: claim.grant_id !== null,
    heldMicro: undefined,
    proposal: proposed && proposalOf(proposed.actor, proposed.at, proposed.data as JsonObject),
    events: events.map(({ at, event, to_status, actor }) => ({ at, event, status: to_status, by: actor })),
    actions: ['credit', 'refund', 'dismiss'],
  }
}
