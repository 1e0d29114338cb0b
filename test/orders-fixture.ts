import type { FastifyInstance } from 'fastify'
import type { Tx } from '../src/db/database.ts'
import { createServer } from '../src/http/server.ts'
import type { Caller } from '../src/kernel/caller.ts'
import type { Clock } from '../src/kernel/clock.ts'
import { Fault } from '../src/kernel/errors.ts'
import { systemRandom } from '../src/kernel/random.ts'
import { contextRoutes } from '../src/payments/context/routes.ts'
import { optionRoutes } from '../src/payments/options/routes.ts'
import type { Asset, Chains } from '../src/payments/orders/chain-port.ts'
import { CONTEXT_LIFETIME_MS, type ContextTokens, type PaymentContext } from '../src/payments/orders/context-port.ts'
import * as lifecycle from '../src/payments/orders/lifecycle.ts'
import { orderRoutes } from '../src/payments/orders/routes.ts'
import type { OrdersDeps } from '../src/payments/orders/service.ts'
import * as store from '../src/payments/orders/store.ts'
import type { TestDatabase } from './database.ts'
import { ledgerFixture } from './ledger-fixture.ts'

/** A moment that tests begin at. */
export const START = new Date('2026-11-20T12:00:00.000Z')

/** A clock that only a test moves. */
export function handMovedClock(): Clock & { set(at: Date): void; by(ms: number): void } {
  let at = START
  return {
    now: () => new Date(at),
    monotonicMs: () => at.getTime(),
    set(to) {
      at = to
    },
    by(ms) {
      at = new Date(at.getTime() + ms)
    },
  }
}

const TOKEN = `0x${'70'.repeat(20)}`
const RECIPIENT = `0x${'ec'.repeat(20)}`

/** A dollar at one to one. */
export const devUsdc: Asset = {
  asset_id: 'dev_usdc',
  symbol: 'USDC',
  chain_id: 31337n,
  network_name: 'Development chain',
  token_address: TOKEN,
  recipient_address: RECIPIENT,
  decimals: 6,
  rate_ppm: 1_000_000n,
  min_amount_micro: 10_000n,
  max_amount_micro: 10_000_000_000n,
  explorer_url: 'https://explorer.example',
  enabled: true,
}
const dear: Asset = { ...devUsdc, asset_id: 'dear_usdc', rate_ppm: 3_000_000n }
const paused: Asset = { ...devUsdc, asset_id: 'paused_usdc', enabled: false }

/** Chains that are what a test says. */
export function fakeChains() {
  const codes = new Map<string, string | Error>()
  const woken: bigint[] = []
  const state = { healthy: true, assets: [devUsdc, dear, paused] as readonly Asset[] }
  const chains: Chains = {
    assets: () => state.assets,
    requiredDepth: (_asset, amount) =>
      amount > 100_000_000n ? { confirmations: 65, tag: 'safe' } : { confirmations: 10, tag: 'blocks' },
    isHealthy: () => state.healthy,
    codeAt: async (_chain, address) => {
      const code = codes.get(address) ?? '0x'
      if (code instanceof Error) throw code
      return code
    },
    wake: (chainId) => void woken.push(chainId),
  }
  return { chains, codes, woken, state }
}

/** Contexts as readable text: what signs them in earnest is tested where it is made. */
export const plainContexts: ContextTokens = {
  async sign(context, issuedAt) {
    return Buffer.from(
      [context.payerAccountId, context.recipientAccountId, context.amountMicro, issuedAt.getTime()].join(' '),
    ).toString('base64url')
  },
  async verify(token, now): Promise<PaymentContext | 'expired' | 'invalid'> {
    const parts = Buffer.from(token, 'base64url').toString().split(' ')
    if (parts.length !== 4 || parts.some((part) => !/^\d+$/.test(part))) return 'invalid'
    const [payer = '0', recipient = '0', amount = '0', issued = '0'] = parts
    if (Number(issued) + CONTEXT_LIFETIME_MS <= now.getTime()) return 'expired'
    return {
      payerAccountId: BigInt(payer),
      recipientAccountId: BigInt(recipient),
      amountMicro: BigInt(amount),
    }
  },
}

/** An answer of the API. `body` is its JSON. */
export interface Answer {
  readonly status: number
  readonly headers: Record<string, unknown>
  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever the answer holds
  readonly body: any
}

/** Status and code of a refusal. */
export const code = (answer: Answer) => [answer.status, answer.body.code]

/** The composed payment routes, with callers that are who their token says. */
function paymentServer(deps: OrdersDeps, faults: unknown[]) {
  const authenticate = async (token: string): Promise<Caller> => {
    const [kind, id] = token.split('-')
    if ((kind !== 'session' && kind !== 'api_key') || !id) throw new Fault('unauthorized')
    return { accountId: BigInt(id), credential: { kind, id: 1n } }
  }
  const server: FastifyInstance = createServer({
    routes: [
      ...orderRoutes(deps),
      ...optionRoutes(deps),
      ...contextRoutes({ ...deps, contextTokens: plainContexts, publicUrl: () => 'https://pay.example' }),
    ],
    authenticator: { authenticate, recognise: authenticate },
    random: systemRandom,
    bodyLimit: 100_000,
    trustedProxies: [],
    onAnswered: () => undefined,
    onFault: (_id, error) => faults.push(error),
  })

  async function send(
    method: 'GET' | 'POST',
    url: string,
    accountId: bigint | undefined,
    body?: unknown,
    kind: 'session' | 'api_key' = 'session',
  ): Promise<Answer> {
    const reply = await server.inject({
      method,
      url,
      headers: accountId === undefined ? {} : { authorization: `Bearer ${kind}-${accountId}` },
      ...(body === undefined ? {} : { payload: body as object }),
    })
    return {
      status: reply.statusCode,
      headers: reply.headers,
      body: reply.body === '' ? undefined : JSON.parse(reply.body),
    }
  }
  return send
}

/** A request for an order, to be changed. */
const wanted = (change: Record<string, unknown> = {}) => ({
  asset_id: 'dev_usdc',
  amount_micro: '5000000',
  idempotency_key: systemRandom.uuid(),
  ...change,
})

/** A transaction hash of its own. */
const hash = (): string => `0x${systemRandom.bytes(32).toString('hex')}`

type Locked = <T>(id: string, work: (tx: Tx, order: store.Order) => Promise<T>) => Promise<T>

/** What the watcher does with the order's transfer, and what it does with a wrong one. */
const chainHand = (locked: Locked, clock: Clock) => ({
  see: (id: string, txHash: string) =>
    locked(id, (tx, order) => lifecycle.see(tx, order, { txHash, attemptId: systemRandom.uuid() }, clock.now())),
  settle: (id: string, txHash: string) =>
    locked(id, (tx, order) =>
      lifecycle.settle(tx, order, { chainId: order.chain_id, txHash, logPosition: 0 }, clock.now()),
    ),
  review: (id: string) =>
    locked(id, (tx, order) =>
      lifecycle.suspect(tx, order, { reason: 'not_direct', txHash: hash(), receivedMicro: 1n }, clock.now()),
    ),
})

/** The composed payment routes on a database of a test's own, with callers that are who their token says. */
export function ordersFixture(database: TestDatabase) {
  const make = ledgerFixture(database)
  const clock = handMovedClock()
  const world = fakeChains()
  const wallets = new Map<bigint, string[]>()
  const faults: unknown[] = []
  const deps: OrdersDeps = {
    db: database.db,
    clock,
    random: systemRandom,
    chains: world.chains,
    contextTokens: plainContexts,
    payerWallets: async (accountId) => wallets.get(accountId) ?? [],
  }
  const send = paymentServer(deps, faults)
  const locked = <T>(id: string, work: (tx: Tx, order: store.Order) => Promise<T>): Promise<T> =>
    database.db.transaction().execute(async (tx) => {
      const order = await store.lock(tx, id)
      if (!order) throw new Error(`no order ${id}`)
      return work(tx, order)
    })
  let walletCount = 0
  return {
    make,
    clock,
    ...world,
    wallets,
    faults,
    deps,
    send,
    /** An account with a linked wallet of its own. */
    async payer(): Promise<bigint> {
      walletCount += 1
      const address = `0xaa${walletCount.toString(16).padStart(38, '0')}`
      const id = await make.account('agent', {
        walletAddress: address,
        label: `payer ${walletCount}`,
      })
      wallets.set(id, [address])
      return id
    },
    /** A pending order of the account. */
    async order(accountId: bigint, given: { amount?: string; asset?: string } = {}): Promise<string> {
      const made = await send('POST', '/v1/payments/orders', accountId, {
        asset_id: given.asset ?? 'dev_usdc',
        amount_micro: given.amount ?? '5000000',
        idempotency_key: systemRandom.uuid(),
      })
      if (made.status !== 200) throw new Error(JSON.stringify(made.body))
      return made.body.data.id
    },
    /** Work on the locked row of an order, as the watcher does it. */
    locked,
    hash,
    /** A request for an order, to be changed. */
    wanted,
    create: (payer: bigint, change: Record<string, unknown> = {}): Promise<Answer> =>
      send('POST', '/v1/payments/orders', payer, wanted(change)),
    post: (payer: bigint, id: string, path: string, body: unknown = {}): Promise<Answer> =>
      send('POST', `/v1/payments/orders/${id}/${path}`, payer, body),
    get: (payer: bigint, id: string): Promise<Answer> => send('GET', `/v1/payments/orders/${id}`, payer),
    ...chainHand(locked, clock),
    audit: async (): Promise<unknown[]> => database.sql('select * from ledger_audit()'),
    availableMicro: (accountId: bigint) => availableMicro(database, accountId),
  }
}

/** What an account may spend, as the ledger sees it. */
async function availableMicro(database: TestDatabase, accountId: bigint): Promise<bigint> {
  const [row] = await database.sql<{ micro: string }>('select account_available_micro($1) as micro', [accountId])
  return BigInt(row?.micro ?? 0)
}
