import type { FastifyInstance } from 'fastify'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { openEvmChain } from '../src/chains/evm.ts'
import type { AxonConfig } from '../src/config/axon.ts'
import { createServer } from '../src/http/server.ts'
import { list } from '../src/identity/wallets/store.ts'
import type { Caller } from '../src/kernel/caller.ts'
import type { Clock } from '../src/kernel/clock.ts'
import { Fault } from '../src/kernel/errors.ts'
import { systemRandom } from '../src/kernel/random.ts'
import type { AxonDeps } from '../src/payments/axon/deps.ts'
import { openRates } from '../src/payments/axon/rates/service.ts'
import type { RateSource } from '../src/payments/axon/rates/source.ts'
import { axonRoutes } from '../src/payments/axon/routes.ts'
import { type AxonRounds, axonRounds } from '../src/payments/axon/worker.ts'
import { type TestChain, testChain } from './chain.ts'
import { freshDatabase, type TestDatabase } from './database.ts'
import { payerAccount } from './orders.ts'

/** An answer of the API. */
export interface Answer {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever the answer holds
  readonly body: any
}

/** The native endpoints of one server, with rounds that a test makes. */
export interface AxonServer {
  readonly deps: AxonDeps
  readonly rounds: AxonRounds
  /** As this account, with an API key. */
  send(accountId: bigint, method: 'GET' | 'POST', path: string, body?: unknown): Promise<Answer>
  close(): Promise<void>
}

/** A chain that makes blocks when it is told to, a database, and a coin that is worth what a test says. */
export interface AxonSetting {
  readonly chain: TestChain
  readonly database: TestDatabase
  readonly config: AxonConfig
  /** From now on a coin is worth so many dollars, with 18 places; undefined: no source answers. Earlier samples are an hour older. */
  worth(rate: bigint | undefined): Promise<void>
  /** Makes blocks. The servers' clock is never behind the chain's. */
  mine(blocks?: number): Promise<void>
  /** What could not be done, newest last. */
  readonly troubles: string[]
  /** Another server on the same database; through these nodes, the chain itself twice unless given. */
  server(options?: { urls?: readonly string[]; config?: Partial<AxonConfig> }): Promise<AxonServer>
  /** An account whose wallet is one of the chain's. */
  account(wallet: string): Promise<bigint>
  /** A wallet with coins that nobody used before. */
  wallet(): Promise<string>
  pay(from: string, wei: bigint | string, to?: string): Promise<string>
  /** Credits that were ever given for native payments. */
  granted(): Promise<bigint>
  stop(): Promise<void>
}

/** One dollar with 18 places. */
export const USD = 10n ** 18n
/** One coin in wei. */
export const COIN = 10n ** 18n

/** The coin of the test chain: two blocks make a payment final, whether one node is asked or two. */
export function testCoin(chain: TestChain, change: Partial<AxonConfig> = {}): AxonConfig {
  return {
    enabled: true,
    chainId: 31_337,
    networkName: 'the test chain',
    symbol: 'AXON',
    payToAddress: `0x${'a0'.repeat(20)}`,
    retiredAddresses: [`0x${'a1'.repeat(20)}`],
    publicRpcUrl: chain.rpcUrl,
    explorerUrl: 'https://explorer.example',
    minTopupMicro: 1_000_000n,
    maxTopupMicro: 10_000_000_000n,
    unquoted: 'review',
    confirmations: { blocks: 2, blocksUpToMicro: 1_000_000_000n, safeUpToMicro: 2_000_000_000n, singleNodeBlocks: 2 },
    safeBlocks: 1,
    finalizedBlocks: 2,
    rate: { kind: 'fixed', rate: 2n * USD, maxAgeMs: 120_000 },
    ...change,
  }
}

/** Opens one for a test file. */
export async function openAxonSetting(): Promise<AxonSetting> {
  const [database, chain] = await Promise.all([freshDatabase(), testChain()])
  const config = testCoin(chain)
  let rate: bigint | undefined = 2n * USD
  let aheadMs = 0
  const clock: Clock = { now: () => new Date(Date.now() + aheadMs), monotonicMs: () => performance.now() }
  const troubles: string[] = []
  const closing: (() => Promise<void>)[] = []
  const setting: AxonSetting = {
    chain,
    database,
    config,
    troubles,
    async worth(given) {
      rate = given
      const earlier = "sampled_at = sampled_at - interval '1 hour', observed_at = observed_at - interval '1 hour'"
      await database.sql(`update axon_rates set ${earlier}`)
    },
    async mine(blocks = 1) {
      await chain.mine(blocks)
      const latest = (await chain.rpc('eth_getBlockByNumber', 'latest', false)) as { timestamp: string }
      aheadMs = Math.max(aheadMs, Number(latest.timestamp) * 1000 - Date.now())
    },
    async server({ urls = [chain.rpcUrl, `${chain.rpcUrl}/`], config: change = {} } = {}) {
      const read = async () => {
        if (rate === undefined) throw new Error('no source answers')
        return { rate, observedAt: clock.now(), detail: {} }
      }
      const made = await openServer({ db: database.db, clock, urls, config: { ...config, ...change }, troubles, read })
      closing.push(made.close)
      return made
    },
    account: (wallet) => payerAccount(database, wallet),
    ...walletsOn(chain, config.payToAddress),
    async granted() {
      const [row] = await database.sql<{ total: string }>(
        `select coalesce(sum(amount_micro), 0) as total from credit_grants where source = 'axon'`,
      )
      return BigInt(row?.total ?? 0)
    },
    async stop() {
      await Promise.all(closing.map((close) => close()))
      await chain.stop()
      await database.drop()
    },
  }
  return setting
}

/** Wallets with keys and coins. What they pay is signed, so that it can be sent again after a reorganisation. */
function walletsOn(chain: TestChain, payTo: string): Pick<AxonSetting, 'wallet' | 'pay'> {
  const wallets = new Map<string, PrivateKeyAccount>()
  return {
    async wallet() {
      const account = privateKeyToAccount(generatePrivateKey())
      const address = account.address.toLowerCase()
      wallets.set(address, account)
      await chain.rpc('anvil_setBalance', address, `0x${(1_000_000n * COIN).toString(16)}`)
      await chain.rpc('anvil_impersonateAccount', address)
      return address
    },
    async pay(from, wei, to = payTo) {
      const account = wallets.get(from)
      if (!account) throw new Error(`nobody has the key of ${from}`)
      const [nonce, gasPrice] = await Promise.all([
        chain.rpc('eth_getTransactionCount', from, 'pending'),
        chain.rpc('eth_gasPrice'),
      ])
      const signed = await account.signTransaction({
        type: 'legacy',
        chainId: 31_337,
        nonce: Number(nonce),
        gas: 100_000n,
        gasPrice: 2n * BigInt(String(gasPrice)),
        to: to as `0x${string}`,
        value: BigInt(wei),
      })
      return String(await chain.rpc('eth_sendRawTransaction', signed))
    },
  }
}

/** A server whose first round was made. */
async function openServer({
  db,
  clock,
  urls,
  config,
  troubles,
  read,
}: {
  db: TestDatabase['db']
  clock: Clock
  urls: readonly string[]
  config: AxonConfig
  troubles: string[]
  read: RateSource['read']
}): Promise<AxonServer> {
  const { chainId, networkName, safeBlocks, finalizedBlocks } = config
  const own = {
    db,
    clock,
    coin: {
      config,
      chain: openEvmChain({ chainId, networkName, rpcUrls: urls, safeBlocks, finalizedBlocks }, clock),
    },
    rates: openRates({ db, clock, source: { kind: 'http', maxAgeMs: 120_000, read } }),
    payerWallets: async (accountId: bigint) => (await list(db, accountId)).map(({ address }) => address),
    onTrouble: (_: string, error: unknown) => void troubles.push(error instanceof Error ? error.message : 'unknown'),
  }
  const rounds = axonRounds(own, { busyMs: 1, idleMs: 1, reconcileMs: 0 })
  await rounds.once()
  return axonServer({ ...own, status: rounds.status, wake: () => undefined }, rounds, troubles)
}

function axonServer(deps: AxonDeps, rounds: AxonRounds, troubles: string[]): AxonServer {
  const authenticate = async (token: string): Promise<Caller> => {
    if (!/^\d+$/.test(token)) throw new Fault('unauthorized')
    return { accountId: BigInt(token), credential: { kind: 'api_key', id: 1n } }
  }
  const server: FastifyInstance = createServer({
    routes: axonRoutes(deps),
    authenticator: { authenticate, recognise: authenticate },
    random: systemRandom,
    bodyLimit: 100_000,
    trustedProxies: [],
    onAnswered: () => undefined,
    onFault: (_id, error) => void troubles.push(error instanceof Error ? error.message : 'unknown'),
  })
  return {
    deps,
    rounds,
    async send(accountId, method, path, body) {
      const reply = await server.inject({
        method,
        url: `/v1/payments/axon/${path}`,
        headers: { authorization: `Bearer ${accountId}` },
        ...(body === undefined ? {} : { payload: body as object }),
      })
      return { status: reply.statusCode, body: JSON.parse(reply.body) }
    },
    close: () => server.close(),
  }
}
