import { acceptAssets } from '../../chains/assets.ts'
import { type AuthorizationNode, openAuthorizationNodes } from '../../chains/authorizations/node.ts'
import { authorizationProblems } from '../../chains/authorizations/start-check.ts'
import { openRelayer } from '../../chains/relayer/relayer.ts'
import type { Config, Secrets } from '../../config/config.ts'
import type { X402Config } from '../../config/x402.ts'
import type { Clock } from '../../kernel/clock.ts'
import { gasMoneyOf } from '../../payments/x402/lane/gas.ts'
import { type Check, failed, ok, skipped, warning } from './check.ts'

/** Below this a payment may cost more gas than it brings. */
const SOUND_MINIMUM_MICRO = 10_000n

/** Top-ups by x402: whether the token signs as configured, the relayer has gas money, and the smallest amount is sound. Empty without them. */
export async function checkTopUps(
  { config, secrets }: { config: Config; secrets: Secrets },
  clock: Clock,
  options: { offline: boolean },
): Promise<Check[]> {
  const { x402, assets } = config.payments
  const asset = x402 && acceptAssets(assets).find(({ assetId }) => assetId === x402.asset)
  if (!x402 || !asset) return []
  const minimum =
    x402.minAmountMicro < SOUND_MINIMUM_MICRO
      ? warning(
          'x402 minimum',
          `payments from ${x402.minAmountMicro} micro ${asset.symbol} on are settled, and each costs you gas`,
          `Set \`payments.x402.min_amount_micro\` to ${SOUND_MINIMUM_MICRO} or more.`,
        )
      : ok('x402 minimum', `${x402.minAmountMicro} micro ${asset.symbol}`)
  if (options.offline) return [skipped('x402 token', 'the chain was not asked (--offline)'), minimum]
  const nodes = openAuthorizationNodes({ ...asset, rpcUrls: secrets.rpcUrls[asset.assetId] ?? [] }, clock)
  const payTo = x402.payTo?.toLowerCase() ?? asset.recipientAddress
  const [token, relayer] = await Promise.all([
    tokenCheck(() => authorizationProblems(nodes, asset, payTo), `${asset.symbol} on ${asset.networkName}`),
    relayerCheck(x402, secrets.relayerKey, nodes),
  ])
  return [token, relayer, minimum]
}

async function tokenCheck(problems: () => Promise<string[]>, name: string): Promise<Check> {
  try {
    const [problem] = await problems()
    return problem === undefined
      ? ok('x402 token', `${name} signs under the configured name and version`)
      : failed('x402 token', problem, 'Correct the asset or its nodes: no top-up is taken until they agree.')
  } catch {
    return failed(
      'x402 token',
      `no node of ${name} answers`,
      'Correct `rpc_urls`, or look at DNS, firewall and the nodes.',
    )
  }
}

async function relayerCheck(
  { facilitatorUrl, gasAlarmPayments }: X402Config,
  key: string | undefined,
  nodes: readonly AuthorizationNode[],
): Promise<Check> {
  const name = 'x402 relayer'
  if (facilitatorUrl !== undefined) return ok(name, `none: the facilitator at ${facilitatorUrl} sends`)
  // only a development economy starts without one: it has its own
  if (key === undefined) return skipped(name, 'FAREBOX_RELAYER_KEY is not set here')
  const { address } = openRelayer(key)
  try {
    const { balance, payments } = await gasMoneyOf(nodes, address)
    const found = `${address} has ${balance} wei, enough for ${payments} payments`
    return payments < BigInt(gasAlarmPayments)
      ? warning(name, found, `Send it native currency of the chain: the alarm is at ${gasAlarmPayments} payments.`)
      : ok(name, found)
  } catch {
    return failed(name, `the balance of ${address} cannot be read`, 'Look at the nodes of the asset.')
  }
}
