import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type TestChain, testChain } from '../../../test/chain.ts'
import { type SignedInPerson, startServers, type TestServers } from '../../../test/servers.ts'
import { named, snippetsOf } from '../../../test/snippets.ts'

const privateKey = generatePrivateKey()
const wallet = privateKeyToAccount(privateKey)
let chain: TestChain
let servers: TestServers
let agent: SignedInPerson

beforeAll(async () => {
  chain = await testChain()
  const taken = `    dev_usdc: { recipient: '${chain.recipient}', rpc_urls: ['${chain.rpcUrl}'] }
  axon:
    chain_id: 31337
    network_name: Farebox development chain
    symbol: AXON
    pay_to_address: '${chain.recipient}'
    rpc_urls: ['${chain.rpcUrl}']
    public_rpc_url: ${chain.rpcUrl}
    confirmations: { single_node_blocks: 2 }
    rate: { kind: fixed, usd: '2' }
`
  servers = await startServers(1, { configure: (shipped) => shipped.replace('  assets:\n', `  assets:\n${taken}`) })
  await chain.rpc('anvil_setBalance', wallet.address, '0x8ac7230489e80000')
  agent = await servers.signIn(wallet)
})
afterAll(async () => {
  await servers.stop()
  await chain.stop()
})

/** The chain goes on, as chains do, until this is over. */
async function whileBlocksAreMade<T>(work: Promise<T>): Promise<T> {
  let over = false
  const mining = (async () => {
    while (!over) {
      await chain.mine()
      await new Promise((resolve) => setTimeout(resolve, 300))
    }
  })()
  try {
    return await work
  } finally {
    over = true
    await mining
  }
}

test('the documented program quotes, pays and redeems with nothing but viem, and the Credits can be spent', async () => {
  const program = named(await snippetsOf(new URL('../../../docs/native-token.md', import.meta.url)), 'top up')
  expect([...program.matchAll(/from '([^']+)'/g)].map(([, name]) => name)).toEqual(['viem', 'viem/accounts'])
  const ready = async (): Promise<void> => {
    const { json } = await servers.send('GET', '/readyz')
    if (!json.checks.axon.ok || !json.checks.chain_31337.ok) return ready()
  }
  await ready()

  const refused = await servers.chat(agent.apiKey)
  expect(refused.status).toBe(402)
  expect(refused.json).toMatchObject({
    code: 'insufficient_credits',
    topup_url: `${servers.urls[0]}/topup`,
    available_micro: '0',
    required_micro: refused.json.shortfall_micro,
    payment: {
      network: 'Farebox development chain',
      currency: 'USDC',
      pay_to_address: expect.stringMatching(new RegExp(chain.recipient, 'i')),
      amount: refused.json.shortfall_micro,
    },
  })
  expect(refused.json).not.toHaveProperty('accepts')

  const { stdout } = await whileBlocksAreMade(
    promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program], {
      env: { FAREBOX_URL: servers.urls[0] ?? '', FAREBOX_API_KEY: agent.apiKey, AGENT_PRIVATE_KEY: privateKey },
    }),
  )
  expect(stdout).toMatch(
    /^3 dollars for 1\.5 coins on Farebox development chain\nsent 0x[0-9a-f]{64}\ncompleted: 3000000 microcredits\n$/,
  )
  expect((await servers.chat(agent.apiKey)).status).toBe(200)
  const ledger = await servers.send('GET', '/v1/credits/ledger', { token: agent.apiKey })
  expect(JSON.stringify(ledger.json)).toContain('"source":"axon"')
})
