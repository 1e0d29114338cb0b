/** A stablecoin on a chain, as payers may use it now. `src/chains` has the table; payments know only this shape. */
export interface Asset {
  readonly asset_id: string
  readonly symbol: string
  readonly chain_id: bigint
  readonly network_name: string
  /** Lower-case, as are all addresses inside. */
  readonly token_address: string
  readonly recipient_address: string
  readonly decimals: number
  /** Micro units of the asset for one Credit: 1000000 is one to one. */
  readonly rate_ppm: bigint
  /** Limits of one order, in micro units of the asset. */
  readonly min_amount_micro: bigint
  readonly max_amount_micro: bigint
  /** Without a trailing slash; "" when the chain has no explorer. */
  readonly explorer_url: string
  /** False while the operator has paused it, or while start-up found that it is not what its row says. */
  readonly enabled: boolean
}

/** How deep a transfer of an amount must be: blocks, and the words of the chain that mean more than a count. */
export interface Depth {
  /** The number of confirmations that payers are shown. */
  readonly confirmations: number
  readonly tag: 'blocks' | 'safe' | 'finalized'
}

/** What payments ask about the chains. Every call that leaves the process has a timeout of its own. */
export interface Chains {
  /** All configured assets, paused ones too. */
  assets(): readonly Asset[]
  /** How deep a transfer of this amount of the asset must be before it is credited. */
  requiredDepth(asset: Asset, amountMicro: bigint): Depth
  /** Whether enough nodes of the chain answer and agree, as last seen. Does not leave the process. */
  isHealthy(chainId: bigint): boolean
  /** The code at an address, lower-case hex, `0x` for none. Throws when no node answers. */
  codeAt(chainId: bigint, address: string): Promise<string>
  /** Something is about to happen on this chain: look at once instead of at the next tick. Never blocks. */
  wake(chainId: bigint): void
}
