import { randomBytes } from 'node:crypto'
import type { PrivateKeyAccount } from 'viem/accounts'
import { type App, createApp } from '../src/app/app.ts'
import { createLogger } from '../src/app/logger.ts'
import { loadConfig, packagedConfigurationFile } from '../src/config/config.ts'
import { readTextFile } from '../src/config/read-file.ts'
import type { Clock } from '../src/kernel/clock.ts'
import { systemRandom } from '../src/kernel/random.ts'
import { auditLedger } from '../src/ledger/audit.ts'
import { type TestChain, testChain } from './chain.ts'
import { freshDatabase, type TestDatabase } from './database.ts'
import { newWallet } from './servers.ts'
import { carryOutCall, eventually, mint, type Proof, type Signed, signed, transfersOf } from './x402-proofs.ts'

/** A relayer of the test chain, as its default. */
const RELAYER_KEY = '0x47e179ec197488593b187f80a00eb0da91f1b9d0b13f8733639f19c30a34926a'
/** Its address, in lower case. */
export const RELAYER = '0x15d34aaf54267db7d7c367839aaf71a00a2c6a65'

/** An answer of the top-up endpoint, read to its end. */
export interface TopUpAnswer {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects, and fails where it is not
  readonly json: any
  /** PAYMENT-RESPONSE or X-PAYMENT-RESPONSE, decoded. */
  // biome-ignore lint/suspicious/noExplicitAny: as above
  readonly response: any
}

/** Whole servers with top-ups, on one database and one chain. */
export interface TopUpSetting {
  readonly chain: TestChain
  readonly database: TestDatabase
  readonly pepper: Buffer
  readonly apps: readonly App[]
  readonly urls: readonly string[]
  /** Everything that was logged. */
  readonly log: string[]
  /** A new wallet that holds so many micro units of the token, and nothing else. */
  wallet(tokens?: bigint): Promise<PrivateKeyAccount>
  sign(wanted: Partial<Signed> & { wallet: PrivateKeyAccount }): Promise<Proof>
  /** GET /v1/payments/topup. */
  topUp(wanted?: {
    amount?: bigint | string
    headers?: Record<string, string>
    at?: number
    method?: string
    signal?: AbortSignal
  }): Promise<TopUpAnswer>
  /** The same, sent again as long as the answer says that the payment is on its way. */
  settled(wanted: Parameters<TopUpSetting['topUp']>[0]): Promise<TopUpAnswer>
  /** Signs and pays until it is settled; gives the answer and the proof. */
  pay(wanted: Partial<Signed> & { wallet: PrivateKeyAccount; at?: number }): Promise<TopUpAnswer & { proof: Proof }>
  /** Sends a signed authorization by an account that is nobody's relayer. */
  carryOut(proof: Proof): Promise<string>
  /** Makes a call from the same account; resolves with its hash once it is in a block. */
  sent(call: { to: string; data: string }): Promise<string>
  /** A block for each transaction from now on, or none before `mine`. */
  automine(on: boolean): Promise<void>
  /** Transfers from a wallet to the recipient that the chain has. */
  transfers(wallet: { address: string }): Promise<{ amount: bigint; txHash: string }[]>
  /** Microcredits given for x402 to the account of a wallet, and how often. */
  credits(wallet: { address: string }): Promise<{ grants: number; micro: bigint }>
  send(method: string, path: string, sent?: { token?: string; body?: unknown; at?: number }): Promise<TopUpAnswer>
  /** Signs a wallet in by the real endpoints. */
  signIn(wallet: PrivateKeyAccount): Promise<{ accountId: bigint; token: string }>
  /** Moves the wall clock of the servers forward. */
  advance(ms: number): void
  /** What the ledger's own audit finds wrong: nothing. */
  audit(): Promise<unknown[]>
  /** Resolves when no payment is open any more. */
  quiet(): Promise<void>
  stop(): Promise<void>
}

/** What differs from one server, on the chain itself, with a relayer. */
export interface TopUpOptions {
  readonly servers?: number
  /** The nodes that servers ask; the chain itself by default. */
  readonly rpcUrls?: (chain: TestChain) => Promise<readonly string[]>
  /** Keys of `payments.x402`. */
  readonly x402?: object
  /** Keys of `payments.assets.dev_usdc`. */
  readonly asset?: object
  readonly relayerKey?: string
}

/** Starts one. Call it in beforeAll and `stop` in afterAll. The chain makes a block for each transaction. */
export async function openTopUps(options: TopUpOptions = {}): Promise<TopUpSetting> {
  const [database, chain] = await Promise.all([freshDatabase(), testChain()])
  await chain.rpc('evm_setAutomine', true)
  const log: string[] = []
  let aheadMs = 0
  const clock: Clock = {
    now: () => new Date(Date.now() + aheadMs),
    monotonicMs: () => performance.now() + aheadMs,
  }
  const rpcUrls = (await options.rpcUrls?.(chain)) ?? [chain.rpcUrl]
  const around = {
    clock,
    log,
    pepper: randomBytes(32),
    databaseUrl: database.url,
    configuration: topUpConfiguration({ ...options, rpcUrls, recipient: chain.recipient }),
    relayerKey: options.relayerKey ?? RELAYER_KEY,
  }
  const apps = await Promise.all(Array.from({ length: options.servers ?? 1 }, () => composed(around)))
  const urls = await Promise.all(apps.map((app) => app.server.listen({ host: '127.0.0.1', port: 0 })))
  const setting: TopUpSetting = {
    chain,
    database,
    pepper: around.pepper,
    apps,
    urls,
    log,
    ...onChain(chain, clock),
    ...overHttp(urls),
    pay: async (wanted) => {
      const proof = await setting.sign(wanted)
      const { value: amount } = proof.authorization
      return { ...(await setting.settled({ amount, headers: proof.headers, at: wanted.at ?? 0 })), proof }
    },
    credits: (wallet) => creditsOf(database, wallet),
    advance(ms) {
      aheadMs += ms
    },
    audit: () => auditLedger(database.db),
    quiet: () =>
      eventually(async () => {
        const open = await database.sql(`select from x402_payments where status in ('awaiting_settlement', 'pending')`)
        return open.length === 0
      }, 'no payment is open'),
    async stop() {
      await Promise.all(apps.map((app) => app.stop(0)))
      await chain.stop()
      await database.drop()
    },
  }
  await Promise.all(
    urls.map((_, at) => eventually(async () => (await setting.topUp({ at })).status === 402, 'top-ups are on')),
  )
  return setting
}

function composed(around: {
  clock: Clock
  log: string[]
  pepper: Buffer
  databaseUrl: string
  configuration: string
  relayerKey: string
}): Promise<App> {
  const { clock, log, configuration, relayerKey } = around
  const { config, secrets } = loadConfig({
    environment: { PORT: '0', HOST: '127.0.0.1', FAREBOX_CONFIG: 'test.yaml', FAREBOX_RELAYER_KEY: relayerKey },
    readFile: (path) => (path === 'test.yaml' ? configuration : undefined),
    now: clock.now(),
    mode: 'development',
  })
  return createApp({
    ...around,
    config,
    secrets,
    random: systemRandom,
    logger: createLogger({ level: 'info', write: (text) => void log.push(text) }),
    version: '0.0.0-test',
    host: 'test',
    pid: process.pid,
    isRunning: () => true,
  })
}

/** A configuration file with top-ups on this chain. */
export function topUpConfiguration({
  recipient,
  rpcUrls,
  x402,
  asset,
}: Pick<TopUpOptions, 'x402' | 'asset'> & { rpcUrls: readonly string[]; recipient: string }): string {
  const topUps = { asset: 'dev_usdc', confirmations: 1, gas_price_max_gwei: 1000, payments_per_minute_per_payer: 1000 }
  // JSON is YAML
  const payments = `payments:
  assets:
    dev_usdc: ${JSON.stringify({ recipient, rpc_urls: rpcUrls, ...asset })}
  x402: ${JSON.stringify({ ...topUps, ...x402 })}
`
  const shipped = readTextFile(packagedConfigurationFile) ?? ''
  return shipped.replace(/^payments:\n {2}assets:\n/m, payments)
}

function onChain(
  chain: TestChain,
  clock: Clock,
): Pick<TopUpSetting, 'wallet' | 'sign' | 'carryOut' | 'sent' | 'automine' | 'transfers'> {
  return {
    async wallet(tokens = 100_000_000n) {
      const wallet = newWallet()
      if (tokens > 0n) await mint(chain, wallet.address, tokens)
      return wallet
    },
    sign: (wanted) => signed(chain, clock, wanted),
    carryOut: (proof) => sentAndMined(chain, { to: chain.token, data: carryOutCall(proof) }),
    sent: (call) => sentAndMined(chain, call),
    automine: async (on) => void (await chain.rpc('evm_setAutomine', on)),
    transfers: (wallet) => transfersOf(chain, wallet),
  }
}

/** Microcredits given for x402 to the account of a wallet, and how often. */
export async function creditsOf(
  database: TestDatabase,
  { address }: { address: string },
): Promise<{ grants: number; micro: bigint }> {
  const [row] = await database.sql<{ grants: string; micro: string }>(
    `select count(*) as grants, coalesce(sum(g.amount_micro), 0) as micro from credit_grants g
     join account_wallets w on w.account_id = g.account_id where g.source = 'x402' and w.address = $1`,
    [address.toLowerCase()],
  )
  return { grants: Number(row?.grants), micro: BigInt(row?.micro ?? 0) }
}

async function sentAndMined(chain: TestChain, call: { to: string; data: string }): Promise<string> {
  const hash = await chain.send({ from: chain.payers[3] ?? '', ...call })
  await eventually(async () => (await chain.rpc('eth_getTransactionReceipt', hash)) !== null, 'it is in a block')
  return hash
}

function overHttp(urls: readonly string[]): Pick<TopUpSetting, 'topUp' | 'settled' | 'send' | 'signIn'> {
  const topUp: TopUpSetting['topUp'] = async ({ amount, headers = {}, at = 0, method = 'GET', signal } = {}) => {
    const query = amount === undefined ? '' : `?amount_micro=${amount}`
    return answerOf(
      await fetch(`${urls[at]}/v1/payments/topup${query}`, { method, headers, ...(signal ? { signal } : {}) }),
    )
  }
  const settled: TopUpSetting['settled'] = async (wanted) => {
    const answer = await topUp(wanted)
    return answer.status === 202 && answer.json.retry_action === 'poll' ? settled(wanted) : answer
  }
  const send: TopUpSetting['send'] = async (method, path, { token, body, at = 0 } = {}) =>
    answerOf(
      await fetch(`${urls[at]}${path}`, {
        method,
        headers: {
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    )
  return {
    topUp,
    settled,
    send,
    async signIn(wallet) {
      const challenge = await send('POST', '/v1/auth/challenge', { body: { wallet_address: wallet.address } })
      const signature = await wallet.signMessage({ message: challenge.json.message })
      const { json } = await send('POST', '/v1/auth/verify', {
        body: { challenge_id: challenge.json.challenge_id, signature },
      })
      return { accountId: BigInt(json.account.id), token: json.tokens.access_token }
    },
  }
}

async function answerOf(response: Response): Promise<TopUpAnswer> {
  const text = await response.text()
  const header = response.headers.get('payment-response') ?? response.headers.get('x-payment-response')
  return {
    status: response.status,
    headers: response.headers,
    json: text.startsWith('{') ? JSON.parse(text) : text,
    response: header === null ? undefined : JSON.parse(Buffer.from(header, 'base64').toString()),
  }
}
