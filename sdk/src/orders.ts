import { ConflictError, FareboxError } from './errors.ts'
import type { Answer, Requests } from './requests.ts'

/** A wallet order as the server tells it (spec 2.2). */
export type Order = Answer<'/v1/payments/orders/{id}', 'get'>['data']

/** The transfer that pays an order: a direct `transfer` on the token, and nothing else. */
export interface TransferRequest {
  readonly chainId: number
  readonly from: string
  /** The token's contract. */
  readonly to: string
  /** `transfer(address,uint256)` with recipient and amount. */
  readonly data: string
  readonly value: '0x0'
}

/** Sends the transfer and gives its hash. Throw `NothingWasSent` when it is certain that nothing was, and only then. */
export type SendTransfer = (transfer: TransferRequest) => Promise<string>

/** Says that the wallet refused: nothing left it and nothing will. A timeout or a lost connection is not that. */
export class NothingWasSent extends Error {
  override name = 'NothingWasSent'
}

/** What to buy. */
export interface Purchase {
  readonly assetId: string
  /** In micro units of the asset. */
  readonly amountMicro: bigint
  /** The same key is the same order: keep it, and a crash makes no second one. */
  readonly idempotencyKey: string
}

/** Wallet orders: made, paid with a single attempt, and followed until the Credits are there. */
export interface Orders {
  create(purchase: Purchase): Promise<Order>
  read(id: string): Promise<Order>
  /**
   * Pays once. Reserves the order's one attempt, asks `send`, and registers the hash. When `send` fails in any way
   * but NothingWasSent the attempt stays reserved and the error is thrown: follow the order with `wait`, never pay again.
   * Rejects with ConflictError `attempt_active` when another attempt is already out.
   */
  pay(order: Order, send: SendTransfer): Promise<Order>
  /** Waits until the order is completed, expired or under review. */
  wait(id: string, options?: { readonly signal?: AbortSignal }): Promise<Order>
}

const POLL_MS = 2_000
const word = (hex: string): string => hex.replace(/^0x/, '').toLowerCase().padStart(64, '0')

/** The transfer that pays this order. */
export function transferOf(order: Order): TransferRequest {
  const amount = BigInt(order.amount_micro)
  return {
    chainId: order.chain_id,
    from: order.payer_address,
    to: order.token_address,
    data: `0xa9059cbb${word(order.recipient_address)}${word(amount.toString(16))}`,
    value: '0x0',
  }
}

/** The orders of a client. */
export function createOrders({ session, transport }: Requests): Orders {
  const post = <T>(path: string, body: unknown): Promise<T> => session<T>({ method: 'POST', path, body })
  const read = async (id: string): Promise<Order> =>
    (await session<{ data: Order }>({ path: `/v1/payments/orders/${encodeURIComponent(id)}` })).data

  return {
    read,
    async create({ assetId, amountMicro, idempotencyKey }) {
      const body = { asset_id: assetId, amount_micro: String(amountMicro), idempotency_key: idempotencyKey }
      const request = { method: 'POST', path: '/v1/payments/orders', body, idempotencyKey } as const
      const { data } = await session<{ data: { id: string } }>(request)
      return read(data.id)
    },
    async pay(order, send) {
      const path = `/v1/payments/orders/${order.id}`
      const { data } = await post<{ data: { attempt_id: string } }>(`${path}/attempts`, {})
      let hash: string
      try {
        hash = await send(transferOf(order))
      } catch (error) {
        if (error instanceof NothingWasSent) await post(`${path}/attempts/${data.attempt_id}/reject`, {})
        throw error
      }
      // the server finds the payment without the hash: a failure here loses nothing
      await post(`${path}/transactions`, { tx_hash: hash }).catch((error: unknown) => {
        if (!(error instanceof FareboxError) || error instanceof ConflictError) throw error
      })
      return read(order.id)
    },
    async wait(id, { signal } = {}) {
      for (;;) {
        signal?.throwIfAborted()
        const order = await read(id)
        if (order.status !== 'pending' && order.status !== 'confirming') return order
        await transport.sleep(POLL_MS)
      }
    },
  }
}
