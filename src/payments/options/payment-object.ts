import { getAddress } from 'viem/utils'
import { dividedRoundingUp, MICROCREDITS_PER_CREDIT } from '../../kernel/money.ts'
import type { Chains } from '../orders/chain-port.ts'

/** The `payment` of 402 answers (decisions 4). All strings. */
interface PaymentObject {
  readonly network: string
  readonly currency: string
  /** Where an order of this asset pays to. Show it; pay only with an order. */
  readonly pay_to_address: string
  /** What the missing Credits cost, in micro units of the currency. */
  readonly amount: string
}

/**
 * What would buy the missing microcredits: the first asset that can be paid with, and how much of it, rounded up and at
 * least the smallest order. Empty while no asset can be paid with. It says what to pay, not that a bare transfer is
 * credited: that takes an order, and it is never an x402 offer.
 */
export function paymentObject(
  chains: Pick<Chains, 'assets' | 'isHealthy'>,
  shortfallMicro: bigint,
): { readonly payment: PaymentObject } | Record<string, never> {
  const asset = chains.assets().find(({ enabled, chain_id: chainId }) => enabled && chains.isHealthy(chainId))
  if (!asset) return {}
  const cost = dividedRoundingUp(shortfallMicro * asset.rate_ppm, MICROCREDITS_PER_CREDIT)
  const least = asset.min_amount_micro
  return {
    payment: {
      network: asset.network_name,
      currency: asset.symbol,
      pay_to_address: getAddress(asset.recipient_address),
      amount: String(cost > least ? cost : least),
    },
  }
}
