import { isLoss, isUnitLoss } from '../../administration/prices/margin.ts'
import type { ProgramSurroundings } from '../../app/surroundings.ts'
import type { Config, Secrets } from '../../config/config.ts'
import { type MediaModelConfig, mediaPriceInForce } from '../../config/media-models.ts'
import { type ModelConfig, priceInForce } from '../../config/models.ts'
import { ConfigurationFault } from '../../config/problem.ts'
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
  const enabled = [
    ...config.models.map((model) => ({ model, margin: chatMargin(model, now) })),
    ...config.mediaModels.map((model) => ({ model, margin: mediaMargin(model, now) })),
  ].filter(({ model }) => model.enabled)
  const unpriced = enabled.filter(({ margin }) => margin === 'unpriced')
  const losing = enabled.filter(({ margin }) => margin === 'loss')
  // the demo provider costs nothing, so it needs no cost
  const unknown = enabled.filter(
    ({ model, margin }) =>
      margin === 'unknown' && model.providers.some(({ provider }) => config.providers[provider]?.kind !== 'demo'),
  )
  const idsOf = (rows: ReadonlyArray<{ model: { id: string } }>): string => rows.map(({ model }) => model.id).join(', ')
  return [
    unpriced.length > 0
      ? failed(
          'models priced',
          `no price is in force: ${idsOf(unpriced)}`,
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

type Standing = 'unpriced' | 'loss' | 'unknown' | 'none lost'

function chatMargin(model: ModelConfig, now: Date): Standing {
  const price = priceInForce(model, now)
  if (price === undefined) return 'unpriced'
  if (price.cost === undefined) return 'unknown'
  return isLoss(price) ? 'loss' : 'none lost'
}

/** One tier that loses is a loss. */
function mediaMargin(model: MediaModelConfig, now: Date): Standing {
  const price = mediaPriceInForce(model, now)
  if (price === undefined) return 'unpriced'
  const priced = [price, ...price.tiers]
  if (priced.some(isUnitLoss)) return 'loss'
  return priced.some(({ unitCostMicro }) => unitCostMicro === undefined) ? 'unknown' : 'none lost'
}
