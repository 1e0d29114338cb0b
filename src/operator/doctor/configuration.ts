import type { ProgramSurroundings } from '../../app/surroundings.ts'
import type { Config, Secrets } from '../../config/config.ts'
import { priceInForce } from '../../config/models.ts'
import { ConfigurationFault } from '../../config/problem.ts'
import { isLoss } from '../margin.ts'
import { readConfig, type Wiring } from '../settings.ts'
import { type Check, failed, ok, warning } from './check.ts'

/** The settings as the server would read them, and one check for each thing that is wrong with them. */
export function checkConfiguration(
  around: ProgramSurroundings,
  wiring: Wiring,
): { checks: Check[]; settings: { config: Config; secrets: Secrets } | undefined } {
  const name = 'configuration'
  try {
    const settings = readConfig(around, wiring.mode)
    return {
      checks: [ok(name, `${settings.config.configurationFile} and the environment, as for ${wiring.mode}`)],
      settings,
    }
  } catch (error) {
    if (!(error instanceof ConfigurationFault)) throw error
    return {
      checks: error.problems.map(({ where, problem, fix }) => failed(name, `${where}: ${problem}`, fix)),
      settings: undefined,
    }
  }
}

/** Models without a price, at a loss, or without a known cost. */
export function checkPrices(config: Config, now: Date): Check[] {
  const enabled = config.models.filter((model) => model.enabled)
  const priced = enabled.flatMap((model) => {
    const price = priceInForce(model, now)
    return price === undefined ? [] : [{ model, price }]
  })
  const unpriced = enabled.filter((model) => !priced.some((other) => other.model === model))
  const losing = priced.filter(({ price }) => isLoss(price))
  // the demo provider costs nothing, so it needs no cost
  const unknown = priced.filter(
    ({ model, price }) =>
      price.cost === undefined && model.providers.some(({ provider }) => config.providers[provider]?.kind !== 'demo'),
  )
  const idsOf = (rows: ReadonlyArray<{ model: { id: string } }>): string => rows.map(({ model }) => model.id).join(', ')
  return [
    unpriced.length > 0
      ? failed(
          'models priced',
          `no price is in force: ${unpriced.map(({ id }) => id).join(', ')}`,
          'Add a price whose effective_from has passed, or set `enabled: false`.',
        )
      : ok('models priced', `${enabled.length} enabled, all priced`),
    losing.length > 0
      ? failed(
          'margin',
          `sold below cost: ${idsOf(losing)}`,
          'Add a price version above the cost; `farebox prices show` has the numbers.',
        )
      : unknown.length > 0
        ? warning(
            'margin',
            `no loss is known; no cost is configured for ${idsOf(unknown)}`,
            'Set `cost` with their prices.',
          )
        : ok('margin', 'every model is sold at or above its cost'),
  ]
}
