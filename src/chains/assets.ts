/** How deep a transfer must be buried, by its amount (decisions 3). Amounts are micro units of the asset. */
export interface Confirmations {
  /** So many blocks, the transfer's own included, for amounts up to `blocksUpToMicro`. */
  readonly blocks: number
  readonly blocksUpToMicro: bigint
  /** The chain's `safe` block for amounts up to this; above it its `finalized` block. */
  readonly safeUpToMicro: bigint
  /** Blocks that count instead of every rule where only one node is asked. Absent: `finalized` alone counts there. */
  readonly singleNodeBlocks?: number
}

/** A token on a chain, as its issuer deployed it. Another one is another row of `assets`. */
export interface Asset {
  readonly assetId: string
  readonly chainId: number
  readonly networkName: string
  /** Lower case. */
  readonly tokenAddress: string
  readonly symbol: string
  /** Six in every row: an amount on the chain is an amount in micro units. */
  readonly decimals: 6
  /** The token's EIP-712 domain, which EIP-3009 signatures name. */
  readonly signingDomain: { readonly name: string; readonly version: string }
  /** What x402 version 1 calls the chain, and the chain id its clients then sign for. Absent: it has no name for it. */
  readonly x402V1?: { readonly network: string; readonly chainId: number }
  /** Without a trailing slash; empty where there is none. */
  readonly explorerUrl: string
  readonly confirmations: Confirmations
  /** Tokens that people mistake for it: watched, so that what arrives is not lost, and never credited by itself. */
  readonly mistakenFor: readonly string[]
  /** How many blocks `safe` and `finalized` usually lie behind: shown to payers, and used where a node does not know the word. */
  readonly safeBlocks: number
  readonly finalizedBlocks: number
  /** Micro units of the asset for one Credit, unless the operator says otherwise. */
  readonly ratePpm: bigint
  readonly minAmountMicro: bigint
  readonly maxAmountMicro: bigint
}

const MILLION = 1_000_000n
const usual = {
  decimals: 6,
  mistakenFor: [] as readonly string[],
  ratePpm: MILLION,
  minAmountMicro: MILLION,
  maxAmountMicro: 100_000n * MILLION,
  confirmations: { blocks: 10, blocksUpToMicro: 100n * MILLION, safeUpToMicro: 1_000n * MILLION },
} as const

/** Every asset that an operator can enable (spec 2.2 `asset_id`). Addresses are the issuer's own list. */
export const assets = [
  {
    ...usual,
    assetId: 'base_usdc',
    chainId: 8453,
    networkName: 'Base',
    tokenAddress: '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913',
    symbol: 'USDC',
    signingDomain: { name: 'USD Coin', version: '2' },
    x402V1: { network: 'base', chainId: 8453 },
    explorerUrl: 'https://basescan.org',
    // USDbC, EURC, USDT
    mistakenFor: [
      '0xd9aaec86b65d86f6a7b5b1b0c42ffa531710b6ca',
      '0x60a3e35cc302bfa44cb288bc5a4f316fdb1adb42',
      '0xfde4c96c8593536e31f229ea8f37b2ada2699bb2',
    ],
    safeBlocks: 65,
    finalizedBlocks: 600,
  },
  {
    ...usual,
    assetId: 'base_sepolia_usdc',
    chainId: 84532,
    networkName: 'Base Sepolia',
    tokenAddress: '0x036cbd53842c5426634e7929541ec2318f3dcf7e',
    symbol: 'USDC',
    signingDomain: { name: 'USDC', version: '2' },
    x402V1: { network: 'base-sepolia', chainId: 84532 },
    explorerUrl: 'https://sepolia.basescan.org',
    safeBlocks: 65,
    finalizedBlocks: 600,
  },
  {
    ...usual,
    assetId: 'polygon_usdc',
    chainId: 137,
    networkName: 'Polygon',
    tokenAddress: '0x3c499c542cef5e3811e1192ce70d8cc03d5c3359',
    symbol: 'USDC',
    signingDomain: { name: 'USD Coin', version: '2' },
    x402V1: { network: 'polygon', chainId: 137 },
    explorerUrl: 'https://polygonscan.com',
    // USDC.e, USDT
    mistakenFor: ['0x2791bca1f2de4661ed88a30c99a7a9449aa84174', '0xc2132d05d31c914a87c6611c10748aeb04b58e8f'],
    // reorganisations of a dozen blocks have happened here
    confirmations: { ...usual.confirmations, blocks: 64 },
    safeBlocks: 128,
    finalizedBlocks: 256,
  },
  {
    ...usual,
    assetId: 'dev_usdc',
    chainId: 31337,
    networkName: 'Farebox development chain',
    // the first contract of the development chain's deployer (contracts/DevStablecoin.sol)
    tokenAddress: '0x057ef64e23666f000b34ae31332854acbd1c8544',
    symbol: 'USDC',
    signingDomain: { name: 'USD Coin', version: '2' },
    // version 1 has no name for a development chain: the token honours what is signed for this one as well
    x402V1: { network: 'base-sepolia', chainId: 84532 },
    explorerUrl: '',
    minAmountMicro: 1n,
    confirmations: {
      blocks: 2,
      blocksUpToMicro: 100n * MILLION,
      safeUpToMicro: 1_000n * MILLION,
      singleNodeBlocks: 2,
    },
    safeBlocks: 1,
    finalizedBlocks: 2,
  },
] as const satisfies readonly Asset[]

/** What an operator says about an asset that is taken. Everything but recipient falls back to the row. */
export interface AssetSettings {
  readonly recipient: string
  /** Former recipients: still watched, what arrives there is reviewed. */
  readonly retiredRecipients?: readonly string[]
  readonly enabled?: boolean
  readonly ratePpm?: bigint
  readonly minAmountMicro?: bigint
  readonly maxAmountMicro?: bigint
  readonly confirmations?: Partial<Confirmations>
  /** The block from which a token or recipient is read that is new here. Absent: from 10,000 blocks back. */
  readonly firstBlock?: bigint
  /** How long one of its nodes may take to answer. Absent: 3 seconds. */
  readonly rpcTimeoutMs?: number
}

/** An asset that this server takes, or took: a paused one is still watched. */
export interface AcceptedAsset extends Asset {
  /** Lower case, like every address here. */
  readonly recipientAddress: string
  readonly retiredRecipients: readonly string[]
  /** False: no new orders. */
  readonly enabled: boolean
  readonly firstBlock: bigint | undefined
  /** undefined: 3 seconds. */
  readonly rpcTimeoutMs: number | undefined
}

/** Why an asset cannot be taken. The message says what to do. */
export class AssetRefused extends Error {
  override name = 'AssetRefused'
}

/** The accepted assets, from the table and what the operator says. Refuses ids that no row has and bounds that contradict each other. */
export function acceptAssets(settings: Readonly<Record<string, AssetSettings>>): AcceptedAsset[] {
  return Object.entries(settings).map(([assetId, own]) => {
    const row: Asset | undefined = assets.find((asset) => asset.assetId === assetId)
    if (row === undefined)
      throw new AssetRefused(
        `There is no asset \`${assetId}\`. Known are ${assets.map((asset) => asset.assetId).join(', ')}.`,
      )
    const recipientAddress = own.recipient.toLowerCase()
    const retiredRecipients = (own.retiredRecipients ?? []).map((address) => address.toLowerCase())
    const accepted: AcceptedAsset = {
      ...row,
      recipientAddress,
      retiredRecipients,
      enabled: own.enabled ?? true,
      firstBlock: own.firstBlock,
      rpcTimeoutMs: own.rpcTimeoutMs,
      ratePpm: own.ratePpm ?? row.ratePpm,
      minAmountMicro: own.minAmountMicro ?? row.minAmountMicro,
      maxAmountMicro: own.maxAmountMicro ?? row.maxAmountMicro,
      confirmations: { ...row.confirmations, ...own.confirmations },
    }
    if (recipientAddress === row.tokenAddress)
      throw new AssetRefused(`The recipient of \`${assetId}\` is the token itself: what is sent there is lost.`)
    if (retiredRecipients.includes(recipientAddress))
      throw new AssetRefused(`The recipient of \`${assetId}\` is also retired. Remove it from one of the two.`)
    if (accepted.minAmountMicro > accepted.maxAmountMicro)
      throw new AssetRefused(`The smallest amount of \`${assetId}\` is larger than the largest.`)
    return accepted
  })
}
