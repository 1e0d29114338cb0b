import { getAddress } from 'viem/utils'
import { MAX_TIMEOUT_SECONDS, type TopUpSettings } from './model.ts'

/** What is asked for, as both versions of x402 say it. */
export interface Offer {
  /** The object of the PAYMENT-REQUIRED header. */
  readonly v2: object
  /** Members of the body: version 1's where it has a name for the chain, else the same as in the header. */
  readonly body: { readonly x402Version: 1 | 2; readonly accepts: readonly object[] }
}

const DESCRIPTION = 'Credits for the account of the paying wallet'

/** The terms for a payment of this amount. `resourceUrl` is the address that is paid. */
export function offerOf(settings: TopUpSettings, amountMicro: bigint, resourceUrl: string, error: string): Offer {
  const { asset, payTo } = settings
  const shared = {
    scheme: 'exact',
    asset: getAddress(asset.tokenAddress),
    payTo: getAddress(payTo),
    maxTimeoutSeconds: MAX_TIMEOUT_SECONDS,
    extra: { ...asset.signingDomain },
  }
  const v2 = {
    x402Version: 2 as const,
    error,
    resource: { url: resourceUrl, description: DESCRIPTION, mimeType: 'application/json' },
    accepts: [{ ...shared, network: networkName(settings, 2), amount: String(amountMicro) }],
  }
  if (!asset.x402V1) return { v2, body: v2 }
  const v1 = {
    ...shared,
    network: asset.x402V1.network,
    maxAmountRequired: String(amountMicro),
    resource: resourceUrl,
    description: DESCRIPTION,
    mimeType: 'application/json',
  }
  return { v2, body: { x402Version: 1, accepts: [v1] } }
}

/** What a version of x402 calls the chain; the CAIP-2 name where version 1 has none. */
export function networkName({ asset }: Pick<TopUpSettings, 'asset'>, version: 1 | 2): string {
  return (version === 1 ? asset.x402V1?.network : undefined) ?? `eip155:${asset.chainId}`
}
