import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAddress } from 'viem/accounts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type TestChain, testChain } from '../../../test/chain.ts'
import { freshDatabase, type TestDatabase } from '../../../test/database.ts'
import { type LyingNode, lyingNode } from '../../../test/lying-node.ts'
import { type ServerProcess, spawnServer } from '../../../test/server-process.ts'
import { newWallet } from '../../../test/servers.ts'
import { creditsOf, topUpConfiguration } from '../../../test/x402.ts'
import { eventually, mint, type Proof, signed, transfersOf } from '../../../test/x402-proofs.ts'
import { systemClock } from '../../kernel/clock.ts'
import { auditLedger } from '../../ledger/audit.ts'

/** Rounds of each way to die; `npm run test:x402` runs 20. */
const ROUNDS = Number(process.env.FAREBOX_X402_CRASH_ROUNDS ?? 1)
const AMOUNT = 1_000_000n
const relayerKey = generatePrivateKey()

let database: TestDatabase
let chain: TestChain
let node: LyingNode
let folder: string
let environment: Record<string, string>
let server: ServerProcess
let url: string
beforeAll(async () => {
  ;[database, chain, folder] = await Promise.all([
    freshDatabase(),
    testChain(),
    mkdtemp(join(tmpdir(), 'farebox-x402-')),
  ])
  node = await lyingNode(chain.rpcUrl)
  await chain.rpc('evm_setAutomine', true)
  await chain.rpc('anvil_setBalance', privateKeyToAddress(relayerKey), '0xde0b6b3a7640000')
  const configuration = topUpConfiguration({ recipient: chain.recipient, rpcUrls: [node.url] })
    .replace('allow_demo: false', 'allow_demo: true')
    .replace(/# (topup_requests_per_minute_per_address): 10/, '$1: 60000')
  await writeFile(join(folder, 'farebox.yaml'), configuration)
  environment = {
    DATABASE_URL: database.url,
    FAREBOX_CONFIG: join(folder, 'farebox.yaml'),
    FAREBOX_KEY_PEPPER: randomBytes(32).toString('hex'),
    FAREBOX_RELAYER_KEY: relayerKey,
  }
  await start()
})
afterAll(async () => {
  if (server?.child.exitCode === null) server.child.kill('SIGKILL')
  await Promise.all([node.stop(), chain.stop(), database.drop(), rm(folder, { recursive: true, force: true })])
})

async function start(): Promise<void> {
  server = spawnServer(folder, environment)
  url = await listening(server)
}

async function listening(server: ServerProcess): Promise<string> {
  const { child, output } = server
  const address = () => /"address":"(http[^"]+)"/.exec(output())?.[1]
  await eventually(() => address() !== undefined || child.exitCode !== null, 'the server listens')
  const found = await server.listening()
  await eventually(async () => (await fetch(`${found}/v1/payments/topup`)).status === 402, 'top-ups are on')
  return found
}

async function kill(): Promise<void> {
  const gone = once(server.child, 'exit')
  server.child.kill('SIGKILL')
  await gone
}

const send = (proof: Proof, at = url) =>
  fetch(`${at}/v1/payments/topup?amount_micro=${proof.authorization.value}`, { headers: proof.headers })

/** Kills the server when it hands its transaction over: before any node has it, or after. */
async function killedAtBroadcast(
  proof: Proof,
  { reaches, mined }: { reaches: boolean; mined: boolean },
): Promise<void> {
  await chain.rpc('evm_setAutomine', mined)
  const killed = Promise.withResolvers<void>()
  node.lie = async ({ method, params }, honest) => {
    if (method !== 'eth_sendRawTransaction') return honest(method, ...params)
    if (reaches) {
      const hash = await honest(method, ...params)
      if (mined)
        await eventually(async () => (await honest('eth_getTransactionReceipt', hash)) !== null, 'it is in a block')
    }
    kill().then(killed.resolve, killed.reject)
    // nobody is there any more to hear an answer
    throw new Error('the server is gone')
  }
  const cut = send(proof).catch(() => 'cut')
  await killed.promise
  expect(await cut).toBe('cut')
  node.lie = undefined
  await chain.rpc('evm_setAutomine', true)
  if (reaches) await chain.mine()
}

/** Kills the server while it waits for the lock under which the ledger gives Credits for a transfer. */
async function killedBeforeCredit(proof: Proof): Promise<void> {
  const holder = new pg.Client({ connectionString: database.url })
  await holder.connect()
  node.lie = async ({ method, params }, honest) => {
    if (method === 'eth_sendRawTransaction') {
      const sql = `select pg_advisory_lock(hashtextextended('31337' || tx_hash || 0, 0)) from relayer_transactions where raw = $1`
      await holder.query(sql, [params[0]])
    }
    return honest(method, ...params)
  }
  const cut = send(proof).catch(() => 'cut')
  const waiting = `select from pg_locks where locktype = 'advisory' and not granted and database = (select oid from pg_database where datname = current_database())`
  await eventually(async () => (await database.sql(waiting)).length > 0, 'the credit waits')
  await kill()
  expect(await cut).toBe('cut')
  node.lie = undefined
  await holder.end()
}

const points: readonly (readonly [string, (proof: Proof) => Promise<void>])[] = [
  ['after the payment is stored', (proof) => killedAtBroadcast(proof, { reaches: false, mined: false })],
  ['after its transaction is sent', (proof) => killedAtBroadcast(proof, { reaches: true, mined: false })],
  ['after its transaction is mined', (proof) => killedAtBroadcast(proof, { reaches: true, mined: true })],
  ['before its Credits are given', killedBeforeCredit],
]

test.each(points)(
  '35 killed with -9 %s, the payment is credited once after a restart, always',
  async (_, dying) => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const wallet: PrivateKeyAccount = newWallet()
      await mint(chain, wallet.address, AMOUNT)
      const proof = await signed(chain, systemClock, { wallet, amount: AMOUNT })
      await dying(proof)
      expect((await creditsOf(database, wallet)).grants).toBe(0)
      await start()
      // even without the client, and with it: the same proof is answered with what became of it
      if (round % 2 === 1)
        await eventually(async () => (await creditsOf(database, wallet)).grants === 1, 'it is credited')
      await eventually(async () => (await send(proof)).status === 200, 'the same proof is answered')
      expect(await transfersOf(chain, wallet)).toHaveLength(1)
      expect(await creditsOf(database, wallet)).toEqual({ grants: 1, micro: AMOUNT })
    }
    expect(await auditLedger(database.db)).toEqual([])
  },
  ROUNDS * 60_000,
)

test('36 eight copies of one proof, and ten proofs at once, on two server processes: each credited once, with one answer', async () => {
  const other = spawnServer(folder, environment)
  try {
    const urls = [url, await listening(other)]
    const wallet = newWallet()
    await mint(chain, wallet.address, 11n * AMOUNT)
    const proofs = await Promise.all(
      Array.from({ length: 11 }, () => signed(chain, systemClock, { wallet, amount: AMOUNT })),
    )
    const answered = async (proof: Proof, at: number): Promise<string> => {
      const response = await send(proof, urls[at % 2])
      const text = await response.text()
      return response.status === 202 ? answered(proof, at) : `${response.status} ${text}`
    }
    const [first, ...others] = proofs
    if (!first) throw new Error('there are eleven')
    const [copies, answers] = await Promise.all([
      Promise.all(Array.from({ length: 8 }, (_, at) => answered(first, at))),
      Promise.all(others.map(answered)),
    ])
    expect(new Set(copies).size).toBe(1)
    expect([...copies, ...answers].map((answer) => answer.slice(0, 3))).toEqual(Array.from({ length: 18 }, () => '200'))
    expect(await transfersOf(chain, wallet)).toHaveLength(11)
    expect(await creditsOf(database, wallet)).toEqual({ grants: 11, micro: 11n * AMOUNT })
  } finally {
    other.child.kill('SIGKILL')
  }
})
