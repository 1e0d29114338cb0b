import { join } from 'node:path'
import artifact from '../../contracts/artifacts/DevStablecoin.json' with { type: 'json' }
import type { Clock } from '../kernel/clock.ts'
import { type Mining, type RunningAnvil, startAnvil } from './anvil.ts'

/** A wallet whose key everyone knows. */
export interface DevelopmentWallet {
  readonly address: string
  readonly privateKey: string
}

/** The development economy's chain, with its stablecoin and everybody's money on it. */
export interface DevelopmentChain {
  readonly rpcUrl: string
  readonly chainId: number
  readonly assetId: 'dev_usdc'
  /** Checksummed, like the other addresses here. */
  readonly tokenAddress: string
  /** Where payments go: a plain account. */
  readonly recipientAddress: string
  /** Wallets with tokens and gas that belong to no account yet. */
  readonly payers: readonly DevelopmentWallet[]
  /** True when this start made it: there was no chain in the folder. */
  readonly isNew: boolean
  /** Sends what others signed, and pays the gas. */
  readonly relayer: DevelopmentWallet
  rpc: RunningAnvil['rpc']
  /** Ends the chain and keeps its blocks for the next start. */
  stop(): Promise<void>
  /** Settles when the chain ends. Never rejects. */
  readonly exited: Promise<void>
}

/** What `startDevelopmentChain` needs. */
export interface DevelopmentChainOptions {
  /** The chain keeps its blocks in the folder `chain` of it. */
  readonly dataFolder: string
  readonly clock: Clock
  readonly log: (line: string) => void
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Absent: a block for each transaction, and one every two seconds. */
  readonly mining?: Mining
  /** Absent: 31337. */
  readonly chainId?: number
  /** Absent: 28545 when it is free, so that a wallet's settings survive a restart. */
  readonly port?: number
}

const CHAIN_ID = 31_337
const PORT = 28_545
/** So a deposit needs no help to be confirmed, and a day without one makes no huge file. */
const MINING: Mining = { kind: 'steady', seconds: 2 }

// The accounts of the mnemonic "test test … junk", which every Ethereum development chain funds and everyone knows.
// 0 is the owner, 1 the Agent (src/development/economy.ts), 2 the recipient, 3 the token's owner, 4 the relayer,
// 5 to 9 the payers.
const OWNER = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
const AGENT = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const RECIPIENT = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC'
const TOKEN_OWNER = '0x90F79bf6EB2c4f870365E785982E1f101E93b906'
/** The first contract that TOKEN_OWNER makes. */
const TOKEN = '0x057ef64E23666F000b34aE31332854aCBd1c8544'
const RELAYER: DevelopmentWallet = {
  address: '0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65',
  privateKey: '0x47e179ec197488593b187f80a00eb0da91f1b9d0b13f8733639f19c30a34926a',
}
const payers: readonly DevelopmentWallet[] = [
  {
    address: '0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc',
    privateKey: '0x8b3a350cf5c34c9194ca85829a2df0ec3153be0318b5e2d3348e872092edffba',
  },
  {
    address: '0x976EA74026E726554dB657fA54763abd0C3a0aa9',
    privateKey: '0x92db14e403b83dfe3df233f83dfa3a0d7096f21ca9b0d6d6b8d88b2b4ec1564e',
  },
  {
    address: '0x14dC79964da2C08b23698B3D3cc7Ca32193d9955',
    privateKey: '0x4bbbf85ce3377467afe5d46f804f221813b2bb87f24d81f60f1fcdbf7cbf4356',
  },
  {
    address: '0x23618e81E3f5cdF7f54C3d65f7FBc0aBf5B21E8f',
    privateKey: '0xdbda1821b80551c9d65939329250298aa3472ba22feea921c0cf5d620ea67b97',
  },
  {
    address: '0xa0Ee7A142d267C1f36714E4a8F75612F20a79720',
    privateKey: '0x2a871d0798f97d79848a013d4936a73bf4cc922c825d33c1cf7073dff6d409c6',
  },
]
/** A million USDC for each wallet. */
const OPENING_TOKENS = 1_000_000_000_000n
/** `mint(address,uint256)`. */
const MINT = '0x40c10f19'

/**
 * Starts the development chain and, the first time, deploys its stablecoin and funds the owner's, the Agent's and
 * five payers' wallets. Later starts go on from the same blocks. The chain's clock is the machine's, also after a pause.
 */
export async function startDevelopmentChain(options: DevelopmentChainOptions): Promise<DevelopmentChain> {
  const { dataFolder, clock, log, environment, mining = MINING, port = PORT, chainId = CHAIN_ID } = options
  const anvil = await startAnvil({
    dataFolder: join(dataFolder, 'chain'),
    chainId,
    mining,
    port,
    log,
    environment,
  })
  let isNew = false
  try {
    await catchUpClock(anvil, clock)
    isNew = (await anvil.rpc('eth_getCode', TOKEN, 'latest')) === '0x'
    if (isNew) await deploy(anvil)
  } catch (error) {
    await anvil.stop()
    throw error
  }
  const { rpcUrl, rpc, exited, stop } = anvil
  return {
    rpcUrl,
    chainId,
    assetId: 'dev_usdc',
    tokenAddress: TOKEN,
    recipientAddress: RECIPIENT,
    payers,
    isNew,
    relayer: RELAYER,
    rpc,
    stop,
    exited,
  }
}

/** A chain that is started again goes on from the time at which it was stopped; deadlines need the time of day. */
async function catchUpClock(anvil: RunningAnvil, clock: Clock): Promise<void> {
  const latest = (await anvil.rpc('eth_getBlockByNumber', 'latest', false)) as { timestamp: string }
  const nowSeconds = Math.floor(clock.now().getTime() / 1000)
  if (Number(latest.timestamp) < nowSeconds) await anvil.rpc('evm_setTime', nowSeconds)
}

async function deploy(anvil: RunningAnvil): Promise<void> {
  const created = await transact(anvil, {
    from: TOKEN_OWNER,
    data: `${artifact.bytecode}${constructorArguments()}`,
  })
  if (created.contractAddress?.toLowerCase() !== TOKEN.toLowerCase())
    throw new Error(`the development token came to lie at ${created.contractAddress}`)
  const amount = OPENING_TOKENS.toString(16).padStart(64, '0')
  for (const address of [OWNER, AGENT, ...payers.map((payer) => payer.address)])
    await transact(anvil, {
      from: TOKEN_OWNER,
      to: TOKEN,
      data: `${MINT}${address.slice(2).toLowerCase().padStart(64, '0')}${amount}`,
    })
}

/** Sends from an account that the chain holds the key of, and makes the block for it. */
async function transact(
  anvil: RunningAnvil,
  transaction: object,
): Promise<{ status: string; contractAddress: string | null }> {
  const hash = await anvil.rpc('eth_sendTransaction', { gas: '0x2dc6c0', ...transaction })
  await anvil.rpc('evm_mine')
  const receipt = (await anvil.rpc('eth_getTransactionReceipt', hash)) as {
    status: string
    contractAddress: string | null
  }
  if (receipt.status !== '0x1') throw new Error('a transaction that makes the development token failed')
  return receipt
}

/** ("USD Coin", "USDC", "2", token owner): four heads of 32 bytes, then each text as its length and one word. */
function constructorArguments(): string {
  const word = (value: bigint) => value.toString(16).padStart(64, '0')
  const text = (value: string) => word(BigInt(value.length)) + Buffer.from(value).toString('hex').padEnd(64, '0')
  return (
    word(0x80n) + word(0xc0n) + word(0x100n) + word(BigInt(TOKEN_OWNER)) + text('USD Coin') + text('USDC') + text('2')
  )
}
