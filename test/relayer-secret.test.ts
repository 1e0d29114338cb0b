import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemClock } from '../src/kernel/clock.ts'
import { type TestChain, testChain } from './chain.ts'
import { freshDatabase, type TestDatabase } from './database.ts'
import { type LyingNode, lyingNode, RpcError } from './lying-node.ts'
import { type ServerProcess, spawnServer } from './server-process.ts'
import { newWallet } from './servers.ts'
import { topUpConfiguration } from './x402.ts'
import { eventually, mint, type Proof, signed } from './x402-proofs.ts'

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url))
/** Planted: the one private key that a server holds. */
const relayerKey = generatePrivateKey()
const ONE_COIN = '0xde0b6b3a7640000'

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
    mkdtemp(join(tmpdir(), 'farebox-relayer-')),
  ])
  node = await lyingNode(chain.rpcUrl)
  await chain.rpc('evm_setAutomine', true)
  await gas(ONE_COIN)
  const configuration = topUpConfiguration({ recipient: chain.recipient, rpcUrls: [node.url] })
    .replace('allow_demo: false', 'allow_demo: true')
    .replace(/# (topup_requests_per_minute_per_address): 10/, '$1: 60000')
  await writeFile(join(folder, 'farebox.yaml'), configuration)
  environment = {
    LOG_LEVEL: 'trace',
    DATABASE_URL: database.url,
    FAREBOX_CONFIG: join(folder, 'farebox.yaml'),
    FAREBOX_KEY_PEPPER: randomBytes(32).toString('hex'),
    FAREBOX_RELAYER_KEY: relayerKey,
  }
  server = spawnServer(folder, environment)
  url = await server.listening()
  await eventually(async () => (await fetch(`${url}/v1/payments/topup`)).status === 402, 'top-ups are on')
})
afterAll(async () => {
  if (server?.child.exitCode === null) server.child.kill('SIGKILL')
  await Promise.all([node.stop(), chain.stop(), database.drop(), rm(folder, { recursive: true, force: true })])
})

const gas = (balance: string) => chain.rpc('anvil_setBalance', privateKeyToAddress(relayerKey), balance)

/** Every answer, whole. */
const answers: string[] = []

async function pay(tokens: bigint, change: (proof: Proof) => Record<string, string> = ({ headers }) => headers) {
  const wallet = newWallet()
  if (tokens > 0n) await mint(chain, wallet.address, tokens)
  const proof = await signed(chain, systemClock, { wallet })
  const answer = await fetch(`${url}/v1/payments/topup?amount_micro=1000000`, { headers: change(proof) })
  answers.push(`${JSON.stringify([...answer.headers])} ${await answer.text()}`)
  return answer.status
}

/** What a node answers that repeats all it was told, whatever it is asked. */
const repeating = (method: string): LyingNode['lie'] => {
  return async (call, honest) => {
    if (call.method === method) throw new RpcError(-32000, `cannot ${JSON.stringify(call.params)}`)
    return honest(call.method, ...call.params)
  }
}

/** Good and bad payments, and nodes that fail at each thing that the relayer needs of them. */
async function everything(): Promise<void> {
  expect(await pay(1_000_000n)).toBe(200)
  expect(await pay(0n)).toBe(402)
  const spoilt = { 'PAYMENT-SIGNATURE': Buffer.from('{"x402Version": 2, "payload"').toString('base64') }
  expect(await pay(0n, () => spoilt)).toBe(400)
  for (const method of ['eth_estimateGas', 'eth_getTransactionCount', 'eth_getBalance']) {
    node.lie = repeating(method)
    expect(await pay(1_000_000n)).not.toBe(200)
  }
  node.lie = undefined
  await gas('0x0')
  expect(await pay(1_000_000n)).toBe(503)
  await gas(ONE_COIN)
  node.lie = repeating('eth_sendRawTransaction')
  const stuck = pay(1_000_000n)
  await eventually(async () => (await database.sql('select from relayer_transactions')).length > 1, 'one is stuck')
  node.lie = undefined
  // the server sends what it stored again
  expect([200, 202]).toContain(await stuck)
}

/** Forms in which the key could stand somewhere: as it is written, in capitals, and as its bytes in base64. */
const forms = [
  relayerKey.slice(2),
  relayerKey.slice(2).toUpperCase(),
  Buffer.from(relayerKey.slice(2), 'hex').toString('base64').slice(0, -1),
  Buffer.from(relayerKey.slice(2), 'hex').toString('base64url'),
  // of a number that was printed
  String(BigInt(relayerKey)),
]

const farebox = (...command: string[]) =>
  new Promise<string>((resolve) => {
    const options = { cwd: folder, env: { PATH: process.env.PATH, HOST: '127.0.0.1', PORT: '0', ...environment } }
    execFile(process.execPath, [MAIN, ...command], options, (_error, stdout, stderr) => resolve(stdout + stderr))
  })

test('the private key of the relayer turns up in no output, answer, document, command or row', async () => {
  await everything()
  const pages = await Promise.all(
    ['/metrics', '/readyz', '/version', '/openapi.json', '/.well-known/x402'].map((path) =>
      fetch(url + path).then((response) => response.text()),
    ),
  )
  const commands = [await farebox('config', 'show'), await farebox('doctor'), await farebox('x402', 'list')]
  const tables = await database.sql<{ name: string }>(
    `select format('%I', tablename) as name from pg_tables where schemaname = 'public'`,
  )
  const rows = await Promise.all(
    tables.map(({ name }) => database.sql<{ row: string }>(`select to_json(t)::text as row from ${name} t`)),
  )
  server.child.kill('SIGTERM')
  await once(server.child, 'exit')
  const places = {
    output: server.output(),
    answers: answers.join('\n'),
    pages: pages.join('\n'),
    commands: commands.join('\n'),
    database: rows
      .flat()
      .map(({ row }) => row)
      .join('\n'),
  }
  // what is looked through is what the key was used for
  expect(places.database).toContain(privateKeyToAddress(relayerKey).toLowerCase())
  expect(places.commands).toContain('relayer')
  for (const [place, text] of Object.entries(places)) {
    expect(text.length, place).toBeGreaterThan(1_000)
    for (const form of forms) expect(text.includes(form), `the key in the ${place}`).toBe(false)
  }
})

test.each([
  ['too long', `${relayerKey}00`],
  ['no hexadecimal number', `${relayerKey.slice(0, -1)}g`],
])('a key that is %s is refused at the start, without repeating it', async (_what, key) => {
  const { child, output } = spawnServer(folder, { ...environment, FAREBOX_RELAYER_KEY: key })
  const [code] = await once(child, 'exit')
  expect(code).not.toBe(0)
  expect(output()).toContain('FAREBOX_RELAYER_KEY')
  expect(output()).not.toContain(relayerKey.slice(2, -1))
})
