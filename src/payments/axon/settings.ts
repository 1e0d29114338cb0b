import type { Chain } from '../../chains/chain.ts'
import { type RequiredDepth, requiredDepth } from '../../chains/depth.ts'
import type { AxonConfig } from '../../config/axon.ts'
import { MICROCREDITS_MAX } from '../../kernel/money.ts'

/** The coin that is taken, on the chain whose own it is. */
export interface Coin {
  readonly config: AxonConfig
  readonly chain: Chain
}

/** How long a quote holds its rate (decisions 4). */
export const QUOTE_LIFETIME_MS = 10 * 60_000
/** Quotes of one account that may be open at once: each is a free option on the rate. */
export const OPEN_QUOTES_MAX = 5
/** How long after its end a payment of its exact amount still means a quote. */
export const QUOTE_GRACE_MS = 24 * 3_600_000
/** How far the clocks of chain and server may be apart. */
export const CLOCK_SKEW_MS = 60_000
/** Hashes of one account that may wait at once: each is asked about for a day. */
export const OPEN_CLAIMS_MAX = 20
/** Hashes of one account that may be refused in a day: nobody has so many payments that are none. */
export const REFUSED_CLAIMS_MAX = 100
/** How long a hash that no node knows is waited for, by the time of the chain. */
export const SEARCH_MS = 24 * 3_600_000

/** The depth that a payment needs that is worth this much. One of unknown worth waits the longest. */
export function depthFor({ config, chain }: Coin, worthMicro: bigint | undefined): RequiredDepth {
  return requiredDepth(config, worthMicro ?? MICROCREDITS_MAX, chain.nodes.length)
}
