import { Type } from 'typebox'
import { Closed, Integer, integer, Micro, Nullable, type Of, Time } from '../../http/fields.ts'
import { networkOf } from './kinds/amounts.ts'
import type { Amount, CoinNames, Expected, Review, Shown, Waiting } from './kinds/review.ts'
import { reasonInWords } from './reasons.ts'
import type { ReadReview } from './service.ts'

/** What sort of payment waits. */
export const ReviewKindName = Type.Enum(['order', 'transfer', 'native', 'x402'], {
  description:
    "`order`: an order in review; `transfer`: tokens that no order asked for; `native`: a payment with the chain's own coin; `x402`: a payment by x402",
})

const AmountView = Closed({
  amount: Type.String({ description: 'A plain decimal' }),
  symbol: Type.String({ description: 'Of what' }),
})

const waiting = {
  id: Type.String({ description: "An order's id, chain:hash:position of a transfer, axon:12 or x402:7" }),
  kind: ReviewKindName,
  reason: Type.String({ description: 'The slug of why it waits' }),
  reason_in_words: Type.String({ description: 'Why it waits, in a sentence' }),
  opened_at: Time('Since when it waits'),
  age_seconds: Integer(),
  network_name: Type.String(),
}

/** A payment in the list. */
export const WaitingView = Closed({
  ...waiting,
  account_id: Nullable(Integer('Whom it would credit; null where nobody asked for it')),
  expected: Nullable(AmountView),
  received: Nullable(AmountView),
})

const Account = Nullable(Closed({ id: Integer(), label: Nullable(Type.String()) }))
const Address = Type.String({ description: 'An address on the chain' })

/** A payment with everything to decide by. */
export const ReviewView = Closed({
  ...waiting,
  status: Type.String(),
  waits: Type.Boolean({ description: 'False once it was decided, or ended by itself' }),
  account: Account,
  expected: Nullable(
    Closed({
      amount: Type.String(),
      symbol: Type.String(),
      from: Nullable(Address),
      to: Address,
      credit_micro: Micro('What it was to buy'),
      made_at: Time(),
      expires_at: Nullable(Time()),
    }),
  ),
  /** Null where the chain shows nothing, or nothing any more. */
  shown: Nullable(
    Closed({
      amount: Type.String(),
      symbol: Type.String(),
      from: Address,
      to: Address,
      block: Integer(),
      block_at: Time(),
      note: Nullable(Type.String()),
    }),
  ),
  tx_hash: Nullable(Type.String()),
  explorer_tx_url: Type.String({ description: 'Empty where there is no explorer' }),
  worth_micro: Nullable(Micro('What arrived is worth, where that can be said')),
  granted: Type.Boolean({ description: 'Credits were given before the block of the payment was lost' }),
  held_micro: Nullable(Micro('What is still held of those')),
  chain: Closed({
    healthy: Type.Boolean(),
    detail: Type.String(),
    as_of: Nullable(Time('When the chain was last read')),
  }),
  actions: Type.Array(
    Closed({
      action: Type.Enum(['credit', 'refund', 'dismiss']),
      possible: Type.Boolean(),
      why_not: Nullable(Type.String()),
    }),
  ),
  takes_two: Type.Boolean({ description: 'Its worth is above what one operator may decide' }),
  proposal: Nullable(
    Closed({
      action: Type.String(),
      credit_micro: Micro(),
      by: Type.String(),
      at: Time(),
      until: Time('A second operator has to state the same decision before'),
      reason: Type.String(),
    }),
  ),
  events: Type.Array(Closed({ at: Time(), event: Type.String(), status: Type.String(), by: Nullable(Type.String()) })),
})

/** How the views of payments are made at a moment. */
export interface Viewing {
  readonly now: Date
  readonly coin: CoinNames | undefined
}

/** A payment as the list shows it. */
export const waitingView = (review: Waiting, viewing: Viewing): Of<typeof WaitingView> => ({
  ...common(review, viewing),
  account_id: review.accountId === undefined ? null : integer(review.accountId),
  expected: review.expected ?? null,
  received: received(review.received, review, viewing),
})

/** A payment with everything. */
export function reviewView(
  { review, chain, actions, takesTwo, proposedUntil }: ReadReview,
  accountLabels: ReadonlyMap<bigint, string>,
  viewing: Viewing,
): Of<typeof ReviewView> {
  const { accountId, proposal } = review
  const { explorerUrl } = networkOfReview(review, viewing)
  return {
    ...common(review, viewing),
    status: review.status,
    waits: review.waits,
    account: accountId === undefined ? null : { id: integer(accountId), label: accountLabels.get(accountId) ?? null },
    expected: review.expected === undefined ? null : expectedView(review.expected),
    shown: review.shown === undefined ? null : shownView(review.shown),
    tx_hash: review.txHash ?? null,
    explorer_tx_url: review.txHash === undefined || explorerUrl === '' ? '' : `${explorerUrl}/tx/${review.txHash}`,
    worth_micro: micro(review.worthMicro),
    granted: review.granted,
    held_micro: micro(review.heldMicro),
    chain: { healthy: chain.healthy, detail: chain.detail, as_of: chain.readAt?.toISOString() ?? null },
    actions: actions.map(({ action, possible, whyNot }) => ({ action, possible, why_not: whyNot ?? null })),
    takes_two: takesTwo,
    proposal:
      proposal === undefined || proposedUntil === undefined
        ? null
        : {
            action: proposal.action,
            credit_micro: integer(proposal.creditMicro),
            by: proposal.by,
            at: proposal.at.toISOString(),
            until: proposedUntil.toISOString(),
            reason: proposal.reason,
          },
    events: review.events.map(({ at, event, status, by }) => ({
      at: at.toISOString(),
      event,
      status,
      by: by ?? null,
    })),
  }
}

const common = (review: Pick<Waiting, 'id' | 'kind' | 'reason' | 'openedAt' | 'chainId'>, viewing: Viewing) => ({
  id: review.id,
  kind: review.kind,
  reason: review.reason,
  reason_in_words: reasonInWords(review.reason),
  opened_at: review.openedAt.toISOString(),
  age_seconds: Math.max(0, Math.floor((viewing.now.getTime() - review.openedAt.getTime()) / 1000)),
  network_name: networkOfReview(review, viewing).name,
})

const networkOfReview = ({ kind, chainId }: Pick<Review, 'kind' | 'chainId'>, { coin }: Viewing) =>
  kind === 'native' && coin ? { name: coin.networkName, explorerUrl: coin.explorerUrl } : networkOf(chainId)

const received = (amount: Amount | undefined, { kind }: Waiting, { coin }: Viewing): Amount | null =>
  amount === undefined ? null : kind === 'native' && coin ? { ...amount, symbol: coin.symbol } : amount

const expectedView = ({ amount, symbol, from, to, creditMicro, madeAt, expiresAt }: Expected) => ({
  amount,
  symbol,
  from: from ?? null,
  to,
  credit_micro: integer(creditMicro),
  made_at: madeAt.toISOString(),
  expires_at: expiresAt?.toISOString() ?? null,
})

const shownView = ({ amount, symbol, from, to, block, blockAt, note }: Shown) => ({
  amount,
  symbol,
  from,
  to,
  block: integer(block),
  block_at: blockAt.toISOString(),
  note: note ?? null,
})

const micro = (value: bigint | undefined): number | null => (value === undefined ? null : integer(value))
