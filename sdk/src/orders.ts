import { ConflictError, FareboxError } from './errors.ts'
import { followed } from './following.ts'
import type { Answer, Requests } from './requests.ts'

/** A wallet order as the server tells it (spec 2.2). */
export type Order = Answer<'/v1/payments/orders/{id}', 'get'>['data']

/** The transfer that pays an order: a direct `transfer` on the token, and nothing else. */
export interface TransferRequest {
  readonly chainId: number
  readonly from: `0x${string}`
  /** The token's contract. */
  readonly to: `0x${string}`
  /** `transfer(address,uint256)` with recipient and amount. */
  readonly data: `0x${string}`
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
  /** The same key is the same order. Made up unless given; give one that outlives your process where it may crash. */
  readonly idempotencyKey?: string
}

/** Wallet orders: made, paid with a single attempt, and followed until the Credits are there. They take a session. */
export interface Orders {
  create(purchase: Purchase): Promise<Order>
  read(id: string): Promise<Order>
  /**
   * Pays once. Reserves the order's one attempt, asks `send`, and registers the hash. When `send` fails in any way
   * but NothingWasSent the attempt stays reserved and the error is thrown: follow the order with `wait`, never pay again.
   * Rejects with ConflictError `attempt_active` when another attempt is already out. Whatever else it rejects with
   * before `send` was asked, nothing was sent: make another order.
   */
  pay(order: Order, send: SendTransfer): Promise<Order>
  /** Waits until the order is completed, expired or under review, over restarts of the server, too. */
  wait(id: string, options?: { readonly signal?: AbortSignal }): Promise<Order>
}

const POLL_MS = 2_000
const word = (hex: string): string => hex.replace(/^0x/, '').toLowerCase().padStart(64, '0')

/** The transfer that pays this order. */
export function transferOf(order: Order): TransferRequest {
  const amount = BigInt(order.amount_micro)
  return {
    chainId: order.chain_id,
    from: order.payer_address as `0x${string}`,
    to: order.token_address as `0x${string}`,
    data: `0xa9059cbb${word(order.recipient_address)}${word(amount.toString(16))}`,
    value: '0x0',
  }
}

/** The orders of a client. */
export function createOrders({ json, session, transport }: Requests): Orders {
  const pathOf = (id: string): string => `/v1/payments/orders/${encodeURIComponent(id)}`
  const read = async (id: string, signal?: AbortSignal): Promise<Order> =>
    (await json<{ data: Order }>({ path: pathOf(id), signal })).data

  return {
    read: (id) => read(id),
    async create({ assetId, amountMicro, idempotencyKey = crypto.randomUUID() }) {
      const body = { asset_id: assetId, amount_micro: String(amountMicro), idempotency_key: idempotencyKey }
      const path = '/v1/payments/orders'
      return (await session<{ data: Order }>({ method: 'POST', path, body, repeatable: true })).data
    },
    async pay(order, send) {
      const path = pathOf(order.id)
      // never repeated: a lost answer leaves it open whose attempt is out, and only its holder may send
      const { data } = await session<{ data: { attempt_id: string } }>({
        method: 'POST',
        path: `${path}/attempts`,
        body: {},
      })
      const post = (below: string, body: object) =>
        session<{ data: Order }>({ method: 'POST', path: path + below, body, repeatable: true })
      let hash: string
      try {
        hash = await send(transferOf(order))
      } catch (error) {
        if (error instanceof NothingWasSent) await post(`/attempts/${data.attempt_id}/reject`, {})
        throw error
      }
      try {
        return (await post('/transactions', { tx_hash: hash })).data
      } catch (error) {
        // the server finds the payment without the hash: a failure here loses nothing
        if (!(error instanceof FareboxError) || error instanceof ConflictError) throw error
        return read(order.id)
      }
    },
    wait: (id, { signal } = {}) =>
      followed(
        transport,
        {
          read: () => read(id, signal),
          isOver: ({ status }) => status !== 'pending' && status !== 'confirming',
          paceMs: () => POLL_MS,
        },
        signal,
      ),
  }
}

/** A wallet as browsers have it (EIP-1193). */
export interface WalletProvider {
  request(call: { readonly method: string; readonly params?: readonly unknown[] }): Promise<unknown>
}

const REJECTED_BY_USER = 4001

/** Sends by a wallet of EIP-1193. Only its code 4001, and a wallet on another chain, mean that nothing was sent. */
export function sendBy(provider: WalletProvider): SendTransfer {
  return async ({ chainId, ...transaction }) => {
    const current = Number(await provider.request({ method: 'eth_chainId' }).catch(() => Number.NaN))
    if (current !== chainId) throw new NothingWasSent(`The wallet is on chain ${current}, the order on ${chainId}.`)
    try {
      return String(await provider.request({ method: 'eth_sendTransaction', params: [transaction] }))
    } catch (error) {
      if ((error as { code?: unknown } | null)?.code !== REJECTED_BY_USER) throw error
      throw new NothingWasSent('The wallet refused.', { cause: error })
    }
  }
}
