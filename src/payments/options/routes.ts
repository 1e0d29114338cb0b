import { Type } from 'typebox'
import { getAddress } from 'viem/utils'
import { Closed, Integer, integer, Micro } from '../../http/fields.ts'
import { type Route, route } from '../../http/route.ts'
import { MICROCREDITS_PER_CREDIT } from '../../kernel/money.ts'
import type { Asset, Chains } from '../orders/chain-port.ts'

const Option = Closed({
  asset_id: Type.String(),
  symbol: Type.String(),
  chain_id: Integer(),
  network_name: Type.String(),
  token_address: Type.String(),
  decimals: Integer(),
  recipient_address: Type.String(),
  rate_ppm: Type.String({
    pattern: '^[0-9]+$',
    description: 'Micro units of the asset for one Credit: 1000000 is one to one',
  }),
  min_amount_micro: Micro('The smallest payment, in micro units of the asset'),
  max_amount_micro: Micro('The largest payment, in micro units of the asset'),
  required_confirmations: Integer(
    'Blocks before the Credits are given, for the smallest payment; larger ones take more',
  ),
  explorer_url: Type.String(),
  enabled: Type.Boolean({
    description: 'false while the asset is paused or its network cannot be reached',
  }),
})

/** What Credits can be bought with, and at which rate (spec 4.5). */
export function optionRoutes(deps: { readonly chains: Chains }): Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/payments/options',
      summary: 'The stablecoins that buy Credits, with rates and limits.',
      tag: 'Payments',
      access: 'public',
      replies: {
        200: Closed({
          data: Closed({
            assets: Type.Array(Option),
            credit_micro_per_credit: Micro('Microcredits in one Credit'),
          }),
        }),
      },
      refuses: [],
      handle: ({ reply }) => {
        reply.header('cache-control', 'public, max-age=15')
        return {
          data: {
            assets: deps.chains.assets().map((asset) => optionView(asset, deps.chains)),
            credit_micro_per_credit: integer(MICROCREDITS_PER_CREDIT),
          },
        }
      },
    }),
  ]
}

function optionView(asset: Asset, chains: Chains) {
  return {
    asset_id: asset.asset_id,
    symbol: asset.symbol,
    chain_id: integer(asset.chain_id),
    network_name: asset.network_name,
    token_address: getAddress(asset.token_address),
    decimals: asset.decimals,
    recipient_address: getAddress(asset.recipient_address),
    rate_ppm: String(asset.rate_ppm),
    min_amount_micro: integer(asset.min_amount_micro),
    max_amount_micro: integer(asset.max_amount_micro),
    required_confirmations: chains.requiredDepth(asset, asset.min_amount_micro).confirmations,
    explorer_url: asset.explorer_url,
    enabled: asset.enabled && chains.isHealthy(asset.chain_id),
  }
}
