import { setTimeout as pause } from 'node:timers/promises'
import type { DevelopmentChain } from '../embedded/anvil-chain.ts'

/** Somebody of the economy who buys Credits: by an order of its own, through the API, from its own wallet. */
export interface Buyer {
  readonly walletAddress: string
  readonly refreshToken: string
  /** Micro units of the stablecoin. */
  readonly amountMicro: bigint
}

/** What came of it. The refresh token is a new one: the old one was exchanged. */
export interface Bought {
  readonly refreshToken: string
  readonly orderId: string
  readonly creditMicro: bigint
  readonly txHash: string
  /** True when an earlier start bought them. */
  readonly before: boolean
}

interface Order {
  readonly id: string
  readonly status: string
  readonly credit_micro: string
  readonly token_address: string
  readonly recipient_address: string
  readonly amount_micro: string
  readonly tx_hash: string
}

/** One opening order for each account, however often the economy is started. */
const IDEMPOTENCY_KEY = 'development-opening'
const PATIENCE_MS = 40_000
const POLL_MS = 100
/** A start that was killed after the reservation may or may not have sent: what it sent is seen by then. */
const SENT_IS_SEEN_MS = 5_000

/** Buys the opening Credits by a real order, as any client would. A start that finds the order completed buys nothing. */
export async function buyOpeningCredits(baseUrl: string, chain: DevelopmentChain, buyer: Buyer): Promise<Bought> {
  const { tokens } = await call<{ tokens: { access_token: string; refresh_token: string } }>(
    baseUrl,
    '/v1/auth/refresh',
    {
      body: { refresh_token: buyer.refreshToken },
    },
  )
  const bearer = tokens.access_token
  const post = (path: string, body: object) => call<{ data: Order }>(baseUrl, path, { body, bearer })
  const read = async (id: string) =>
    (await call<{ data: Order }>(baseUrl, `/v1/payments/orders/${id}`, { bearer })).data

  const wanted = { asset_id: chain.assetId, amount_micro: String(buyer.amountMicro), idempotency_key: IDEMPOTENCY_KEY }
  await whenPayable(baseUrl, chain)
  let order = (await post('/v1/payments/orders', wanted)).data
  const before = order.status === 'completed'
  if (order.status === 'expired') order = (await post(`/v1/payments/orders/${order.id}/resume`, {})).data
  if (order.status === 'confirming') order = await settled(() => read(order.id), SENT_IS_SEEN_MS)
  if (order.status === 'pending') await post(`/v1/payments/orders/${order.id}/attempts`, {})
  if (order.status !== 'completed' && order.tx_hash === '') await transfer(chain, buyer.walletAddress, order)
  order = await settled(() => read(order.id), PATIENCE_MS)
  if (order.status !== 'completed')
    throw new Error(`the opening order ${order.id} is ${order.status} and not completed`)
  return {
    refreshToken: tokens.refresh_token,
    orderId: order.id,
    creditMicro: BigInt(order.credit_micro),
    txHash: order.tx_hash,
    before,
  }
}

/** Waits until the chain was read and the asset's check has passed, which a moment after the start they may not have. */
async function whenPayable(baseUrl: string, chain: DevelopmentChain): Promise<void> {
  type Options = { data: { assets: ReadonlyArray<{ asset_id: string; enabled: boolean }> } }
  type Ready = { checks: Readonly<Record<string, { ok: boolean }>> }
  for (let left = PATIENCE_MS / POLL_MS; left > 0; left -= 1) {
    const { data } = await call<Options>(baseUrl, '/v1/payments/options', {})
    const { checks } = await call<Ready>(baseUrl, '/readyz', {})
    const enabled = data.assets.some((asset) => asset.asset_id === chain.assetId && asset.enabled)
    if (enabled && checks[`chain_${chain.chainId}`]?.ok) return
    await pause(POLL_MS)
  }
  throw new Error('the development chain could not be read in time')
}

async function settled(read: () => Promise<Order>, withinMs: number): Promise<Order> {
  let order = await read()
  for (let left = withinMs / POLL_MS; left > 0 && order.status !== 'completed'; left -= 1) {
    await pause(POLL_MS)
    order = await read()
  }
  return order
}

/** `transfer(address,uint256)` of the token, sent by a wallet that the development chain has the key of. */
async function transfer(chain: DevelopmentChain, from: string, order: Order): Promise<void> {
  const word = (hex: string) => hex.padStart(64, '0')
  const data = `0xa9059cbb${word(order.recipient_address.slice(2).toLowerCase())}${word(BigInt(order.amount_micro).toString(16))}`
  await chain.rpc('eth_sendTransaction', { from, to: order.token_address, data })
}

async function call<T>(baseUrl: string, path: string, request: { body?: object; bearer?: string }): Promise<T> {
  const response = await fetch(`${baseUrl}${path}`, {
    method: request.body ? 'POST' : 'GET',
    headers: {
      'content-type': 'application/json',
      ...(request.bearer ? { authorization: `Bearer ${request.bearer}` } : {}),
    },
    ...(request.body ? { body: JSON.stringify(request.body) } : {}),
    signal: AbortSignal.timeout(10_000),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text.slice(0, 500)}`)
  return JSON.parse(text) as T
}
