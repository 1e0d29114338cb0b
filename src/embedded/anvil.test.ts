import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { mnemonicToAccount } from 'viem/accounts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { compileContracts } from '../../contracts/compile.ts'
import { assets } from '../chains/assets.ts'
import { systemClock } from '../kernel/clock.ts'
import { AnvilUnavailable } from './anvil.ts'
import { startDevelopmentChain } from './anvil-chain.ts'
import { trimChainState } from './anvil-state.ts'
import { startIdentity } from './processes.ts'

let top: string
beforeAll(async () => {
  top = await mkdtemp(join(tmpdir(), 'farebox-anvil-'))
})
afterAll(() => rm(top, { recursive: true, force: true }))

const start = (name: string, log: (line: string) => void = () => undefined) =>
  startDevelopmentChain({
    dataFolder: join(top, name),
    clock: systemClock,
    log,
    environment: process.env,
    port: 0,
  })
const heightOf = async (chain: { rpc(method: string, ...parameters: unknown[]): Promise<unknown> }) =>
  Number(await chain.rpc('eth_blockNumber'))
const balanceCall = (address: string) => `0x70a08231${address.slice(2).toLowerCase().padStart(64, '0')}`

test('the first start deploys the token where its asset row says and funds the known wallets', async () => {
  const chain = await start('first')
  expect(chain.tokenAddress.toLowerCase()).toBe(assets.find((asset) => asset.assetId === chain.assetId)?.tokenAddress)
  expect(await chain.rpc('eth_getCode', chain.recipientAddress, 'latest')).toBe('0x')
  for (const index of [0, 1, 5, 6, 7, 8, 9]) {
    const wallet = mnemonicToAccount('test test test test test test test test test test test junk', {
      addressIndex: index,
    })
    expect(BigInt(String(await chain.rpc('eth_getBalance', wallet.address, 'latest')))).toBeGreaterThan(10n ** 18n)
    expect(
      BigInt(
        String(await chain.rpc('eth_call', { to: chain.tokenAddress, data: balanceCall(wallet.address) }, 'latest')),
      ),
    ).toBe(10n ** 12n)
    const payer = chain.payers[index - 5]
    if (index >= 5)
      expect(payer).toEqual({
        address: wallet.address,
        privateKey: `0x${Buffer.from(wallet.getHdKey().privateKey ?? []).toString('hex')}`,
      })
  }
  await chain.stop()
})

test('a transaction is in a block at once and gets its second confirmation by itself', async () => {
  const chain = await start('steady')
  const [payer] = chain.payers
  const hash = await chain.rpc('eth_sendTransaction', {
    from: payer?.address,
    to: chain.recipientAddress,
    value: '0x1',
  })
  let receipt: { blockNumber: string } | null = null
  // without the second block this never ends, and the test's own time limit says so
  while (!receipt || (await heightOf(chain)) <= Number(receipt.blockNumber)) {
    receipt = (await chain.rpc('eth_getTransactionReceipt', hash)) as { blockNumber: string } | null
    await pause(20)
  }
  expect(await heightOf(chain)).toBeGreaterThan(Number(receipt.blockNumber))
  await chain.stop()
})

test("blocks and balances outlive a restart, and the clock is the machine's again", async () => {
  const chain = await start('again')
  const [payer] = chain.payers
  await chain.rpc('eth_sendTransaction', {
    from: payer?.address,
    to: chain.tokenAddress,
    data: `0xa9059cbb${chain.recipientAddress.slice(2).padStart(64, '0')}${'7'.padStart(64, '0')}`,
  })
  await chain.rpc('evm_mine')
  // asked for once: the chain makes blocks by itself
  const block = (await chain.rpc('eth_getBlockByNumber', 'latest', false)) as { hash: string; number: string }
  await chain.stop()
  await chain.stop()
  const next = await start('again')
  expect(
    (
      (await next.rpc('eth_getBlockByNumber', block.number, false)) as {
        hash: string
      }
    ).hash,
  ).toBe(block.hash)
  expect(
    BigInt(
      String(await next.rpc('eth_call', { to: next.tokenAddress, data: balanceCall(next.recipientAddress) }, 'latest')),
    ),
  ).toBe(7n)
  const seconds = () => systemClock.now().getTime() / 1000
  const startedAt = seconds()
  await next.rpc('evm_mine')
  const { timestamp } = (await next.rpc('eth_getBlockByNumber', 'latest', false)) as {
    timestamp: string
  }
  // however long that took, and but for rounding
  expect(Number(timestamp)).toBeGreaterThanOrEqual(startedAt - 2)
  expect(Number(timestamp)).toBeLessThanOrEqual(seconds() + 2)
  await next.stop()
})

test('a file that has grown large loses its old empty blocks, and the chain goes on with its money', async () => {
  const chain = await start('long')
  const [payer] = chain.payers
  const paid = await chain.rpc('eth_sendTransaction', {
    from: payer?.address,
    to: chain.recipientAddress,
    value: '0x5',
  })
  await chain.rpc('anvil_mine', '0xc8', '0x1')
  const height = await heightOf(chain)
  await chain.stop()
  const file = join(top, 'long', 'chain', 'state.json')
  const before = (await readFile(file)).length
  await trimChainState(file, 1_000, 20)
  expect((await readFile(file)).length).toBeLessThan(before / 2)
  const next = await start('long')
  expect(await heightOf(next)).toBeGreaterThanOrEqual(height)
  expect(await next.rpc('eth_getTransactionReceipt', paid)).toMatchObject({ status: '0x1' })
  await next.rpc('evm_mine')
  await next.stop()
})

test('a folder whose chain runs is refused, and names the process', async () => {
  const chain = await start('taken')
  await expect(start('taken')).rejects.toThrow(AnvilUnavailable)
  await expect(start('taken')).rejects.toThrow(new RegExp(`process ${process.pid}`))
  await chain.stop()
})

test('a server that is killed takes its chain with it, or the next start ends it', async () => {
  const script = `
    import { startDevelopmentChain } from ${JSON.stringify(new URL('./anvil-chain.ts', import.meta.url).href)}
    import { systemClock } from ${JSON.stringify(new URL('../kernel/clock.ts', import.meta.url).href)}
    const chain = await startDevelopmentChain({ dataFolder: process.argv[1], clock: systemClock, log() {}, environment: process.env, port: 0 })
    console.log('ready')
    setInterval(() => {}, 1000)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script, join(top, 'killed')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(child.stdout, 'data')
  const [, , pid, started] = (await readFile(join(top, 'killed', 'chain', 'anvil.pid'), 'utf8')).split('\n')
  expect(await startIdentity(Number(pid))).toBe(started)
  child.kill('SIGKILL')
  await once(child, 'exit')
  const chain = await start('killed')
  expect(await startIdentity(Number(pid))).not.toBe(started)
  expect(await heightOf(chain)).toBeGreaterThan(0)
  await chain.stop()
})

test('the committed artifacts are what the contracts compile to (node contracts/compile.ts)', async () => {
  for (const [path, text] of Object.entries(await compileContracts()))
    expect(await readFile(new URL(`../../${path}`, import.meta.url), 'utf8'), path).toBe(text)
})
