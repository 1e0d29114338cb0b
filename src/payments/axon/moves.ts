import { type ChainDepth, isDeepEnough } from '../../chains/depth.ts'
import type { NativePayment } from '../../chains/native-payment.ts'
import { creditFor } from './amounts.ts'
import { type Circumstances, type Judgement, judge } from './judge.ts'
import { type Coin, depthFor, SEARCH_MS } from './settings.ts'
import type { Event } from './states.ts'
import type { Claim, ClaimChange } from './store.ts'

/** How deep the chain is as all nodes agree on it, and the time of its head. */
export interface Head extends ChainDepth {
  readonly at: Date
}

/** A move that what the chain shows asks for. Whether it is made, the table of states says. */
export interface Planned {
  readonly event: Event
  readonly change?: ClaimChange
  /** Set on `settle` alone: what is given, and the quote that is used up by it. */
  readonly credit?: { readonly creditMicro: bigint; readonly quoteId: bigint | undefined }
}

/** What a payment in the chain shows, to be kept once it is deep enough. */
const factsOf = ({ payer, recipient, value, block, blockHash, blockAt }: NativePayment) => ({
  payer_address: payer,
  recipient_address: recipient ?? null,
  received_wei: String(value),
  block,
  block_hash: blockHash,
  block_at: blockAt,
})

/** What is kept of a payment that is in no block any more. */
export const NO_FACTS = { received_wei: null, block: null, block_hash: null, block_at: null } as const

/** The moves of a claim whose transaction every node has in the same block. */
export function movesWhenMined(
  coin: Coin,
  head: Head,
  claim: Claim,
  payment: NativePayment,
  around: Circumstances,
): Planned[] {
  const isFinal = payment.block <= head.finalized
  const moved = claim.block_hash !== payment.blockHash
  if (claim.grant_id !== null) {
    const required = depthFor(coin, claim.credited_micro ?? undefined)
    const facts = { ...factsOf(payment), final: isFinal }
    if (claim.status === 'review_required')
      return isDeepEnough(required, payment.block, head)
        ? [{ event: 'restore', change: { ...facts, reason: null } }]
        : []
    return isFinal || moved ? [{ event: 'finalize', change: facts }] : []
  }
  const rate = around.rateThen ?? around.rateNow
  const worth = rate === undefined ? undefined : creditFor(payment.value, rate)
  const judgement = judge(payment, around)
  const deep = (micro: bigint | undefined) => isDeepEnough(depthFor(coin, micro), payment.block, head)
  const arrived = (): Planned[] =>
    deep(worth) && (moved || (isFinal && !claim.final))
      ? [{ event: 'arrive', change: { ...factsOf(payment), final: isFinal } }]
      : []
  if (claim.status === 'review_required') return arrived()
  if (claim.status === 'closed') return []
  return undecided(claim, payment, judgement, { deep, arrived, worth, quoteId: around.quote?.id ?? null })
}

function undecided(
  claim: Claim,
  payment: NativePayment,
  judgement: Judgement,
  {
    deep,
    arrived,
    worth,
    quoteId,
  }: {
    deep: (micro: bigint | undefined) => boolean
    arrived: () => Planned[]
    worth: bigint | undefined
    quoteId: bigint | null
  },
): Planned[] {
  const open = { reason: null, final: false, quote_id: quoteId }
  const see: Planned[] = claim.status === 'confirming' ? [] : [{ event: 'see', change: open }]
  const refuse = (reason: string, final: boolean): Planned[] =>
    claim.status === 'failed' && claim.reason === reason
      ? []
      : [{ event: 'refuse', change: { reason, final, payer_address: payment.payer } }]
  switch (judgement.kind) {
    case 'refuse':
      return [...refuse(judgement.reason, !judgement.arrives), ...(judgement.arrives ? arrived() : [])]
    case 'fail':
      return deep(worth) ? refuse('tx_failed', true) : see
    case 'credit':
      return deep(judgement.creditMicro)
        ? [{ event: 'settle', change: { ...open, ...factsOf(payment) }, credit: judgement }]
        : see
    case 'review':
      return deep(judgement.worthMicro)
        ? [{ event: 'suspect', change: { ...open, ...factsOf(payment), reason: judgement.reason } }]
        : see
  }
}

/** What nodes say of a transaction that is in no block, and of the block in which it was seen. */
export interface Missing {
  /** Whether a node knows it and waits to put it into a block. */
  readonly waiting: boolean
  /** Whether every node has another block at the height of the claim's block. */
  readonly replaced: boolean
}

/** The moves of a claim whose transaction is in no block of any node. */
export function movesWhenMissing(head: Head, claim: Claim, { waiting, replaced }: Missing): Planned[] {
  const searchedFor = head.at.getTime() - claim.claimed_at.getTime()
  const givenUp = !waiting && searchedFor > SEARCH_MS
  switch (claim.status) {
    case 'pending':
      return givenUp ? [{ event: 'give_up', change: { reason: 'tx_not_found', final: true } }] : []
    case 'confirming':
      return [{ event: 'lose' }]
    case 'completed':
      return replaced ? [{ event: 'undo', change: { reason: 'reorged_after_credit' } }] : []
    case 'review_required':
      return replaced && claim.received_wei !== null ? [{ event: 'vanish', change: { ...NO_FACTS, final: false } }] : []
    case 'failed':
      if (replaced && claim.received_wei !== null) return [{ event: 'vanish', change: { ...NO_FACTS, final: false } }]
      return givenUp && !claim.final ? [{ event: 'finalize', change: { final: true } }] : []
    case 'closed':
      return []
  }
}
