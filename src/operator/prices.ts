import { capabilityPriceRows, chatPriceRows, mediaPriceRows } from '../administration/prices/rows.ts'
import { inCredits } from '../kernel/money.ts'
import { withJson } from '../terminal/options.ts'
import { print, table, time } from '../terminal/output.ts'
import type { AddCommands } from './program.ts'
import { reloadServers } from './reload.ts'
import { readConfig } from './settings.ts'

/** `farebox prices show|reload`: what models and capabilities cost, and what is left of it. */
export const pricesCommands: AddCommands = (program, around) => {
  const prices = program.command('prices').description('what models and capabilities cost')
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
      .description(
        'list every price of chat models, models of pictures and films, and capabilities: Credits for each unit, and the margin over what the provider takes',
      ),
  ).action((options: { json?: boolean }) => {
    // prices are the same in both modes, and nothing else of the wiring matters to them
    const { models, mediaModels, capabilities } = readConfig(
      { ...around, environment: { ...around.environment, NODE_ENV: undefined } },
      'development',
    ).config
    const now = around.clock.now()
    const chat = chatPriceRows(models, now)
    const media = mediaPriceRows(mediaModels, now)
    const operations = capabilityPriceRows(capabilities)
    const tables = [chatTable(chat), mediaTable(media), capabilityTable(operations)]
    print(around, options, {
      data: {
        prices: chat.map(({ margin, ...row }) => ({
          ...row,
          margin_percent: margin === undefined ? null : { input: margin.input ?? null, output: margin.output ?? null },
        })),
        media_prices: media.map(({ margin, ...row }) => ({ ...row, margin_percent: margin ?? null })),
        capability_prices: operations,
      },
      text: [
        ...tables.filter((text) => text !== undefined),
        'Prices are Credits. "-" as margin: no cost is configured, so it is not known.',
      ].join('\n\n'),
    })
  })
}

function chatTable(rows: ReturnType<typeof chatPriceRows>): string | undefined {
  if (rows.length === 0) return undefined
  const numbers = ['VERSION', 'INPUT/M', 'CACHED/M', 'OUTPUT/M', 'MARGIN IN', 'MARGIN OUT']
  return `Chat, for a million tokens:\n${table(
    ['MODEL', 'VERSION', 'EFFECTIVE FROM', 'STATE', ...numbers.slice(1)],
    rows.map((row) => [
      named(row.model, row.enabled),
      String(row.version),
      time(row.effective_from),
      row.state,
      inCredits(row.input_micro_per_m),
      inCredits(row.cached_input_micro_per_m),
      inCredits(row.output_micro_per_m),
      percent(row.margin?.input),
      percent(row.margin?.output),
    ]),
    numbers,
  )}`
}

function mediaTable(rows: ReturnType<typeof mediaPriceRows>): string | undefined {
  if (rows.length === 0) return undefined
  return `Pictures and films, for one unit:\n${table(
    ['MODEL', 'VERSION', 'EFFECTIVE FROM', 'STATE', 'FOR', 'UNIT', 'PRICE', 'MARGIN'],
    rows.map((row) => [
      named(row.model, row.enabled),
      String(row.version),
      time(row.effective_from),
      row.state,
      row.tier === null ? 'all else' : Object.values(row.tier).join(' '),
      row.unit,
      inCredits(row.unit_price_micro),
      percent(row.margin),
    ]),
    ['VERSION', 'PRICE', 'MARGIN'],
  )}`
}

function capabilityTable(rows: ReturnType<typeof capabilityPriceRows>): string | undefined {
  if (rows.length === 0) return undefined
  return `Capabilities, for one unit:\n${table(
    ['CAPABILITY', 'VERSION', 'OPERATION', 'UNIT', 'PRICE', 'COUNTED IN', 'AT MOST'],
    rows.map((row) => [
      named(row.capability, row.enabled),
      row.is_default ? `${row.version} (default)` : row.version,
      row.operation,
      row.unit,
      row.unit_price_micro === 0n ? 'free' : inCredits(row.unit_price_micro),
      row.counted_in ?? '-',
      row.units_max === null ? '-' : String(row.units_max),
    ]),
    ['PRICE', 'AT MOST'],
  )}`
}

const named = (name: string, enabled: boolean): string => (enabled ? name : `${name} (disabled)`)

const percent = (margin: number | undefined): string =>
  margin === undefined ? '-' : `${margin.toFixed(1)} %${margin < 0 ? ' LOSS' : ''}`
