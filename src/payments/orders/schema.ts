import { Type } from 'typebox'
import { getAddress } from 'viem/utils'
import { Closed, Integer, integer, Nullable, type Of, Time } from '../../http/fields.ts'
import type { Chains } from './chain-port.ts'
import type { OrderEvent, ReadOrder } from './reading/store.ts'
import { statusAt } from './states.ts'

const Digits = (description: string) => Type.String({ pattern: '^[0-9]+$', description })
const TextOrEmpty = (description: string) => Type.String({ description: `${description}; "" when there is none` })

/** A wallet order (spec 2.2), with what we add to it (decisions 3). */
export const OrderView = Closed({
  id: Type.String({ format: 'uuid' }),
  account_id: Integer('The account that gets the Credits'),
  account_label: Type.String(),
  payer_address: Type.String({ description: 'The wallet that must pay, fixed by the server' }),
  asset_id: Type.String(),
  chain_id: Integer(),
  token_address: Type.String(),
  recipient_address: Type.String({ description: 'Where to pay, fixed by the server' }),
  amount_micro: Digits('What to pay, exactly, in micro units of the asset'),
  credit_micro: Digits('The Credits that it buys, in microcredits'),
  rate_ppm: Digits('Micro units of the asset for one Credit, as they were when the order was made'),
  status: Type.Enum(['pending', 'confirming', 'completed', 'expired', 'review_required']),
  payment_attempt_id: TextOrEmpty('The current send attempt'),
  tx_hash: TextOrEmpty('The transfer that the chain shows, else the newest registered hash'),
  created_at: Time(),
  expires_at: Time(),
  completed_at: Nullable(Time()),
  confirmations: Integer('Blocks on top of the transfer, its own included; 0 while none is seen'),
  required_confirmations: Integer('How many it takes before the Credits are given'),
  block_number: Nullable(Integer('The block of the transfer')),
  review: Nullable(
    Closed({
      reason: Type.String(),
      opened_at: Time(),
      resolved_at: Nullable(Time()),
      resolution: Nullable(Type.String({ description: 'credited, refunded, dismissed or restored' })),
      received_micro: Nullable(Digits('What arrived, in micro units of the asset')),
      held_micro: Nullable(
        Digits('Credits that cannot be spent until it is decided, because their payment left the chain again'),
      ),
    }),
  ),
  network_name: Type.String(),
  token_symbol: Type.String(),
  token_decimals: Integer(),
  explorer_tx_url: TextOrEmpty('The transfer in the explorer'),
  server_time: Time('Count down from this, not from the clock of the device'),
  events: Type.Optional(
    Type.Array(
      Closed({
        event: Type.String(),
        from: Nullable(Type.String()),
        to: Type.String(),
        at: Time(),
      }),
      { description: 'What happened to the order, oldest first; not in lists' },
    ),
  ),
})

/** What an order is shown with. */
export interface Shown {
  readonly order: ReadOrder
  readonly events?: readonly OrderEvent[]
  readonly registeredHash?: string | undefined
}

/** The wire form of an order at this moment. */
export function orderView({ order, events, registeredHash }: Shown, chains: Chains, now: Date): Of<typeof OrderView> {
  const asset = chains.assets().find((candidate) => candidate.asset_id === order.asset_id)
  const hash = order.tx_hash ?? registeredHash ?? ''
  const deep =
    order.block !== null && order.head_block !== null && order.head_block >= order.block
      ? order.head_block - order.block + 1n
      : 0n
  return {
    id: order.id,
    account_id: integer(order.account_id),
    account_label: accountLabel(order.account_id, order.account_label),
    payer_address: getAddress(order.payer_address),
    asset_id: order.asset_id,
    chain_id: integer(order.chain_id),
    token_address: getAddress(order.token_address),
    recipient_address: getAddress(order.recipient_address),
    amount_micro: String(order.amount_micro),
    credit_micro: String(order.credit_micro),
    rate_ppm: String(order.rate_ppm),
    status: statusAt(order, now),
    payment_attempt_id: order.payment_attempt_id ?? '',
    tx_hash: hash,
    created_at: order.created_at.toISOString(),
    expires_at: order.expires_at.toISOString(),
    completed_at: order.completed_at?.toISOString() ?? null,
    confirmations: integer(deep),
    required_confirmations: asset ? chains.requiredDepth(asset, order.amount_micro).confirmations : 0,
    block_number: order.block === null ? null : integer(order.block),
    review:
      order.review_reason === null || order.review_opened_at === null
        ? null
        : {
            reason: order.review_reason,
            opened_at: order.review_opened_at.toISOString(),
            resolved_at: order.review_resolved_at?.toISOString() ?? null,
            resolution: order.review_resolution,
            received_micro: order.received_micro === null ? null : String(order.received_micro),
            held_micro: order.review_held_micro === null ? null : String(order.review_held_micro),
          },
    network_name: asset?.network_name ?? '',
    token_symbol: asset?.symbol ?? '',
    token_decimals: asset?.decimals ?? 0,
    explorer_tx_url: hash !== '' && asset && asset.explorer_url !== '' ? `${asset.explorer_url}/tx/${hash}` : '',
    server_time: now.toISOString(),
    ...(events
      ? {
          events: events.map(({ event, from_status, to_status, at }) => ({
            event,
            from: from_status,
            to: to_status,
            at: at.toISOString(),
          })),
        }
      : {}),
  }
}

/** What people call an account: its label, never its e-mail address. */
export const accountLabel = (id: bigint, label: string | null): string => label ?? `Account ${id}`
