import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { transferCall } from '../../../test/chain.ts'
import { type RunningServer, startServer } from '../../../test/crash/server.ts'
import { freshDatabase, type TestDatabase } from '../../../test/database.ts'
import { named, type Snippet, snippetsOf } from '../../../test/snippets.ts'
import { eventually } from '../../../test/x402-proofs.ts'
import { packagedConfigurationFile } from '../../config/config.ts'
import type { DevelopmentFile } from '../../development/economy.ts'

let database: TestDatabase
let server: RunningServer
let folder: string
let development: DevelopmentFile
let page: Snippet[]
beforeAll(async () => {
  ;[database, folder, page] = await Promise.all([
    freshDatabase(),
    mkdtemp(join(tmpdir(), 'farebox-x402-page-')),
    snippetsOf(new URL('../../../docs/x402.md', import.meta.url)),
  ])
  server = await startServer({
    dataFolder: folder,
    databaseUrl: database.url,
    configFile: packagedConfigurationFile,
  })
  development = JSON.parse(await readFile(join(folder, 'dev.json'), 'utf8'))
})
afterAll(async () => {
  await server?.kill()
  await database.drop()
  await rm(folder, { recursive: true, force: true })
})

/** A key whose wallet has tokens of the fresh start's chain, and nothing else. */
async function walletWithTokens(tokens: bigint): Promise<string> {
  const key = generatePrivateKey()
  const { rpc_url: node, token_address: to } = development.chain
  const rpc = async (method: string, params: unknown[]) =>
    (
      (await (
        await fetch(node, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
        })
      ).json()) as { result: unknown }
    ).result
  const from = development.payers[0]?.address
  const hash = await rpc('eth_sendTransaction', [{ from, to, data: transferCall(privateKeyToAddress(key), tokens) }])
  await eventually(async () => (await rpc('eth_getTransactionReceipt', [hash])) !== null, 'the wallet has its tokens')
  expect(await rpc('eth_getBalance', [privateKeyToAddress(key), 'latest'])).toBe('0x0')
  return key
}

/** Runs a program of the page as a process of its own, with nothing but its settings. */
const run = (program: string, settings: Record<string, string>) =>
  promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program], { env: settings })

test('from a wallet with nothing but tokens to a bill: the page’s one script pays, signs in, calls and reads, in less than 60 lines', async () => {
  const program = named(page, 'agent')
  expect(program.split('\n').length).toBeLessThan(60)
  const { stdout } = await run(program, {
    FAREBOX_URL: server.baseUrl,
    AGENT_PRIVATE_KEY: await walletWithTokens(2_000_000n),
  })
  expect(stdout).toMatch(
    /^payment \d+ (credited: 2 Credits were added to account \d+\.|pending: .*)\n[\s\S]+hello[\s\S]+\ncapture -\d+\ngrant 2000000\n$/,
  )
})

test.each(['pay-v2', 'pay-v1'])(
  'the stock client of %s, unmodified, pays and is credited with the settings of the page',
  async (name) => {
    const key = await walletWithTokens(5_000_000n)
    const { topup_url: TOPUP_URL, network: NETWORK, asset: ASSET } = development.x402
    const { stdout } = await run(named(page, name), { TOPUP_URL, NETWORK, ASSET, PRIVATE_KEY: key })
    const [, status, json = ''] = /^(\d+) (.*)\n$/.exec(stdout) ?? []
    expect(status).toMatch(/^20[02]$/)
    const { payment_id: id, account_id: account } = JSON.parse(json)
    const credited = () =>
      database.sql(
        `select from credit_grants where source = 'x402' and source_id = $1 and account_id = $2 and amount_micro = 5000000`,
        [String(id), account],
      )
    await eventually(async () => (await credited()).length === 1, 'the Credits are there')
  },
)
