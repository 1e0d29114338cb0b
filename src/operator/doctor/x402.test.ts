import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type TestChain, testChain } from '../../../test/chain.ts'
import { freshDatabase, type TestDatabase } from '../../../test/database.ts'
import { type LyingNode, lyingNode } from '../../../test/lying-node.ts'
import { topUpConfiguration } from '../../../test/x402.ts'
import { openTerminal } from '../terminal.fixture.ts'

const key = generatePrivateKey()
const address = privateKeyToAddress(key).toLowerCase()

let database: TestDatabase
let chain: TestChain
let node: LyingNode
let terminal: ReturnType<typeof openTerminal>
let environment: Record<string, string>
beforeAll(async () => {
  ;[database, chain] = await Promise.all([freshDatabase(), testChain()])
  node = await lyingNode(chain.rpcUrl)
  terminal = openTerminal({ DATABASE_URL: database.url })
  const path = join(terminal.folder, 'farebox.yaml')
  const text = topUpConfiguration({ recipient: chain.recipient, rpcUrls: [node.url] })
  writeFileSync(path, text.replace('allow_demo: false', 'allow_demo: true'))
  environment = { HOST: '127.0.0.1', FAREBOX_CONFIG: path, FAREBOX_RELAYER_KEY: key }
})
beforeEach(() => {
  node.lie = undefined
})
afterAll(async () => {
  terminal.close()
  await Promise.all([node.stop(), chain.stop(), database.drop()])
})

type Found = { status: string; found: string; fix?: string }
async function doctor(): Promise<{ exitCode: number; of: (name: string) => Found | undefined }> {
  const ran = await terminal.run(['doctor', '--json'], { environment })
  const { checks } = ran.json<{ checks: (Found & { name: string })[] }>()
  return { exitCode: ran.exitCode, of: (name) => checks.find((check) => check.name === `x402 ${name}`) }
}

test('the doctor compares the token with the chain, counts the payments that gas money lasts for, and advises a sound minimum', async () => {
  await chain.rpc('anvil_setBalance', address, '0xde0b6b3a7640000')
  const { exitCode, of } = await doctor()
  expect(exitCode).toBe(0)
  expect(of('token')).toMatchObject({ status: 'ok' })
  expect(of('relayer')).toMatchObject({
    status: 'ok',
    found: expect.stringMatching(`${address} has 1000000000000000000 wei`),
  })
  expect(of('minimum')).toMatchObject({ status: 'warning', fix: expect.stringContaining('10000') })
})

test('an empty relayer is a warning, and a token that signs under another version fails', async () => {
  await chain.rpc('anvil_setBalance', address, '0x0')
  expect((await doctor()).of('relayer')).toMatchObject({
    status: 'warning',
    found: expect.stringMatching('enough for 0'),
  })
  const one = `0x${'20'.padStart(64, '0')}${'1'.padStart(64, '0')}${Buffer.from('1').toString('hex').padEnd(64, '0')}`
  node.lie = async ({ method, params }, honest) =>
    JSON.stringify(params).includes('0x54fd4d50') ? one : honest(method, ...params)
  const { exitCode, of } = await doctor()
  expect(exitCode).toBe(1)
  expect(of('token')).toMatchObject({ status: 'failed', found: 'the token signs with version "1", not "2"' })
})
