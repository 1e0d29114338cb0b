import type { AxonConfig } from '../config/axon.ts'
import type { DevelopmentChain } from '../embedded/anvil-chain.ts'

/** Two dollars for one coin, as if the operator had said so. */
const RATE = 2n * 10n ** 18n

/** The development chain's own coin as a means of payment. Nobody spends what the recipient gets. */
export function developmentCoin(chain: DevelopmentChain): AxonConfig {
  return {
    enabled: true,
    chainId: chain.chainId,
    networkName: 'Farebox development chain',
    symbol: 'AXON',
    payToAddress: chain.recipientAddress.toLowerCase(),
    retiredAddresses: [],
    publicRpcUrl: chain.rpcUrl,
    explorerUrl: '',
    minTopupMicro: 10_000n,
    maxTopupMicro: 10_000_000_000n,
    unquoted: 'review',
    confirmations: { blocks: 2, blocksUpToMicro: 100_000_000n, safeUpToMicro: 1_000_000_000n, singleNodeBlocks: 2 },
    safeBlocks: 1,
    finalizedBlocks: 2,
    rate: { kind: 'fixed', rate: RATE, maxAgeMs: 120_000 },
  }
}
