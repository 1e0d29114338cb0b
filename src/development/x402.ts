import type { X402Config } from '../config/x402.ts'
import type { DevelopmentChain } from '../embedded/anvil-chain.ts'
import type { DevelopmentFile } from './economy.ts'

/** Top-ups by x402 on the development chain: everything that a block holds counts at once. */
export function developmentTopUps(chain: DevelopmentChain): X402Config {
  return {
    asset: chain.assetId,
    payTo: undefined,
    minAmountMicro: 1n,
    maxAmountMicro: 1_000_000_000_000n,
    confirmations: 1,
    gasPriceMaxGwei: 1_000,
    gasAlarmPayments: 200,
    paymentsPerMinutePerPayer: 60_000,
    facilitatorUrl: undefined,
    facilitatorLimits: undefined,
  }
}

/** What dev.json says about them. */
export function topUpEntries(chain: DevelopmentChain, baseUrl: string): DevelopmentFile['x402'] {
  return {
    topup_url: `${baseUrl}/v1/payments/topup`,
    network: `eip155:${chain.chainId}`,
    asset: chain.tokenAddress,
    pay_to_address: chain.recipientAddress,
    relayer_address: chain.relayer.address,
  }
}
