import { openCoin } from '../../app/axon.ts'
import type { Surroundings } from '../../app/server-surroundings.ts'
import { rateText } from '../../payments/axon/amounts.ts'
import { checkCoin } from '../../payments/axon/check.ts'
import { type Check, failed, ok, skipped, warning } from './check.ts'

/** Whether the native token is what its settings say, on every node, and whether it has a fresh rate. Nothing where none is taken. */
export async function checkAxon(
  settings: Pick<Surroundings, 'config' | 'secrets' | 'clock'>,
  options: { offline: boolean },
): Promise<Check[]> {
  const opened = openCoin(settings)
  if (!opened) return []
  const { coin, source } = opened
  const { symbol, networkName, payToAddress } = coin.config
  const nodes = coin.chain.nodes.length
  if (options.offline) return [skipped('native token', `${symbol} on ${networkName}, not asked (--offline)`)]
  const [chain, rate] = await Promise.all([
    checkCoin(coin).catch((error: unknown) => [messageOf(error)]),
    source.read().catch(messageOf),
  ])
  const checks = chain.map((problem) =>
    failed('native token', problem, 'Correct `payments.axon` in farebox.yaml, or look at the node.'),
  )
  if (checks.length === 0) checks.push(ok('native token', `${symbol} on ${networkName}, paid to ${payToAddress}`))
  if (nodes < 2)
    checks.push(
      warning('native nodes', 'one node is asked: it is believed alone', 'Name a second node of another operator.'),
    )
  const ageMs = typeof rate === 'string' ? 0 : settings.clock.now().getTime() - rate.observedAt.getTime()
  if (typeof rate === 'string')
    checks.push(
      failed('native rate', `none can be read (${rate})`, 'Correct `payments.axon.rate`, or look at its sources.'),
    )
  else if (ageMs > source.maxAgeMs)
    checks.push(
      failed(
        'native rate',
        `it is ${Math.floor(ageMs / 1000)} s old`,
        'Look at its source, or raise `max_age_seconds`.',
      ),
    )
  else checks.push(ok('native rate', `${rateText(rate.rate)} dollars for one ${symbol}, ${source.kind}`))
  return checks
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : 'unknown')
