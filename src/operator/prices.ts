import { type ModelConfig, type Price, priceInForce } from '../config/models.ts'
import { inCredits } from '../kernel/money.ts'
import { withJson } from '../terminal/options.ts'
import { print, table, time } from '../terminal/output.ts'
import { type Margin, marginOf } from './margin.ts'
import type { AddCommands } from './program.ts'
import { reloadServers } from './reload.ts'
import { readConfig } from './settings.ts'

/** `farebox prices show|reload`: what models cost, and what is left of it. */
export const pricesCommands: AddCommands = (program, around) => {
  const prices = program.command('prices').description('what models cost')
  withJson(
    prices
      .command('reload')
      .description(
        'have the running servers read models, prices and capabilities of farebox.yaml again, and print what changed',
      ),
  ).action((options: { json?: boolean }) => reloadServers(around, options))
  withJson(
    prices
      .command('show')
      .description('list every price version: Credits per million tokens, and the margin over what the provider takes'),
  ).action((options: { json?: boolean }) => {
    // prices are the same in both modes, and nothing else of the wiring matters to them
    const { models } = readConfig(
      { ...around, environment: { ...around.environment, NODE_ENV: undefined } },
      'development',
    ).config
    const now = around.clock.now()
    const versions = models.flatMap((model) => model.prices.map((price) => version(model, price, now)))
    const rows = versions.map((row) => [
      row.enabled ? row.model : `${row.model} (disabled)`,
      String(row.version),
      time(row.effective_from),
      row.state,
      inCredits(row.input_micro_per_m),
      inCredits(row.cached_input_micro_per_m),
      inCredits(row.output_micro_per_m),
      percent(row.margin?.input),
      percent(row.margin?.output),
    ])
    const head = [
      'MODEL',
      'VERSION',
      'EFFECTIVE FROM',
      'STATE',
      'INPUT/M',
      'CACHED/M',
      'OUTPUT/M',
      'MARGIN IN',
      'MARGIN OUT',
    ]
    print(around, options, {
      data: {
        prices: versions.map(({ margin, ...row }) => ({
          ...row,
          margin_percent: margin === undefined ? null : { input: margin.input ?? null, output: margin.output ?? null },
        })),
      },
      text: `${table(head, rows, ['VERSION', 'INPUT/M', 'CACHED/M', 'OUTPUT/M', 'MARGIN IN', 'MARGIN OUT'])}\n\nPrices are Credits per million tokens. "-": no cost is configured, so the margin is not known.`,
    })
  })
}

function version(model: ModelConfig, price: Price, now: Date) {
  const inForce = priceInForce(model, now)
  const state = price === inForce ? 'in force' : price.effectiveFrom > now ? 'to come' : 'past'
  return {
    model: model.id,
    enabled: model.enabled,
    version: price.version,
    effective_from: price.effectiveFrom,
    state,
    input_micro_per_m: price.inputMicroPerM,
    cached_input_micro_per_m: price.cachedInputMicroPerM,
    output_micro_per_m: price.outputMicroPerM,
    cost:
      price.cost === undefined
        ? null
        : {
            input_micro_per_m: price.cost.inputMicroPerM,
            output_micro_per_m: price.cost.outputMicroPerM,
          },
    margin: marginOf(price),
  } as const
}

const percent = (margin: Margin['input']): string =>
  margin === undefined ? '-' : `${margin.toFixed(1)} %${margin < 0 ? ' LOSS' : ''}`
