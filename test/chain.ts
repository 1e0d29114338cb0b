import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type AcceptedAsset, type AssetSettings, acceptAssets } from '../src/chains/assets.ts'
import { openEvmChain } from '../src/chains/evm.ts'
import { startDevelopmentChain } from '../src/embedded/anvil-chain.ts'
import { type Clock, systemClock } from '../src/kernel/clock.ts'
import type { WatchedChain } from '../src/payments/watcher/watched.ts'

/** A development chain of a test file's own. It makes a block only when a test says so. */
export interface TestChain {
  readonly rpcUrl: string
  readonly token: string
  readonly recipient: string
  readonly payers: readonly string[]
  rpc(method: string, ...parameters: unknown[]): Promise<unknown>
  /** Makes blocks, the same second apart as real ones would be unless `secondsApart` says otherwise. */
  mine(blocks?: number, secondsApart?: number): Promise<void>
  /** Sends from an account whose key the chain has. The transaction waits for a block. */
  send(transaction: {
    from: string
    to?: string
    data?: string
    value?: string
    nonce?: string
    gasPrice?: string
    gas?: string
  }): Promise<string>
  /** A plain token transfer that waits for a block. */
  pay(payment: {
    from: string
    amount: bigint
    to?: string
    token?: string
    nonce?: string
    gasPrice?: string
  }): Promise<string>
  /** Deploys a contract, in a block of its own, and gives its address in lower case. */
  deploy(bytecode: string, constructorWords?: string): Promise<string>
  height(): Promise<bigint>
  stop(): Promise<void>
}

/** Starts one; takes some 300 ms. */
export async function testChain(chainId = 31_337): Promise<TestChain> {
  const folder = await mkdtemp(join(tmpdir(), 'farebox-chain-'))
  const chain = await startDevelopmentChain({
    dataFolder: folder,
    clock: systemClock,
    log: () => undefined,
    environment: process.env,
    mining: { kind: 'manual' },
    chainId,
    port: 0,
  })
  const { rpc, rpcUrl } = chain
  const send: TestChain['send'] = async (transaction) =>
    String(await rpc('eth_sendTransaction', { gas: '0x1e8480', ...transaction }))
  const mine: TestChain['mine'] = async (blocks = 1, secondsApart = 1) => {
    await rpc('anvil_mine', `0x${blocks.toString(16)}`, `0x${secondsApart.toString(16)}`)
  }
  const token = chain.tokenAddress.toLowerCase()
  const recipient = chain.recipientAddress.toLowerCase()
  return {
    rpcUrl,
    rpc,
    token,
    recipient,
    send,
    mine,
    payers: chain.payers.map((payer) => payer.address.toLowerCase()),
    pay: ({ from, amount, to = recipient, token: other = token, ...rest }) =>
      send({ from, to: other, data: transferCall(to, amount), ...rest }),
    async deploy(bytecode, constructorWords = '') {
      const hash = await send({
        from: chain.payers[4]?.address ?? '',
        data: `${bytecode}${constructorWords}`,
      })
      await mine()
      const receipt = (await rpc('eth_getTransactionReceipt', hash)) as {
        contractAddress: string
        status: string
      }
      if (receipt.status !== '0x1') throw new Error('the contract could not be deployed')
      return receipt.contractAddress.toLowerCase()
    },
    height: async () => BigInt(String(await rpc('eth_blockNumber'))),
    async stop() {
      await chain.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** The call of a plain transfer. */
export function transferCall(to: string, amount: bigint): string {
  return `0xa9059cbb${word(to)}${word(amount)}`
}

/** An address or a number as a 32-byte word, without 0x. */
export function word(value: string | bigint): string {
  return (typeof value === 'bigint' ? value.toString(16) : value.slice(2).toLowerCase()).padStart(64, '0')
}

/** The development asset as an operator would accept it. Two confirmations, whether one node is asked or two. */
export function developmentAsset(recipient: string, settings: Partial<AssetSettings> = {}): AcceptedAsset {
  const [asset] = acceptAssets({ dev_usdc: { recipient, ...settings } })
  if (!asset) throw new Error('there is a development asset')
  return asset
}

/** The development chain as watched through these addresses, one node for each. */
export function watchedThrough(
  rpcUrls: readonly string[],
  assets: readonly AcceptedAsset[],
  clock: Clock = systemClock,
): WatchedChain {
  const settings = {
    chainId: assets[0]?.chainId ?? 31_337,
    networkName: 'the test chain',
    rpcUrls,
    safeBlocks: 1,
    finalizedBlocks: 2,
  }
  return { chain: openEvmChain(settings, clock), assets }
}
