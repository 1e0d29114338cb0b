import { Type } from 'typebox'
import { Closed, Integer, integer, Micro, Nullable, type Of, Time } from '../../http/fields.ts'
import type { capabilityPriceRows, chatPriceRows, mediaPriceRows } from './rows.ts'

const State = Type.Enum(['in force', 'to come', 'past'])
const Percent = (what: string) =>
  Nullable(Type.Number({ description: `${what}, in percent of the price; null where no cost is configured` }))

const Chat = Closed({
  model: Type.String(),
  enabled: Type.Boolean(),
  version: Integer(),
  effective_from: Time(),
  state: State,
  input_micro_per_m: Micro('For a million tokens'),
  cached_input_micro_per_m: Micro(),
  output_micro_per_m: Micro(),
  margin_input_percent: Percent('What is left after the provider, for input'),
  margin_output_percent: Percent('What is left after the provider, for output'),
})

const Media = Closed({
  model: Type.String(),
  enabled: Type.Boolean(),
  type: Type.Enum(['image', 'video']),
  version: Integer(),
  effective_from: Time(),
  state: State,
  unit: Type.String(),
  tier: Nullable(Type.String({ description: 'The fields that it is for; null: all else' })),
  unit_price_micro: Micro(),
  margin_percent: Percent('What is left after the provider'),
})

const Operation = Closed({
  capability: Type.String(),
  enabled: Type.Boolean(),
  version: Type.String(),
  is_default: Type.Boolean(),
  operation: Type.String(),
  unit: Type.String(),
  unit_price_micro: Micro(),
  units_max: Nullable(Integer('As many units at most')),
})

/** Every price of the configuration in force. */
export const PriceList = Closed({
  as_of: Time('When it was looked at: what is in force changes with the time'),
  file: Type.String({ description: 'The file that the configuration was read from' }),
  refused: Nullable(Type.String({ description: 'Why the file was not taken over when it was last read' })),
  drifted: Type.Array(Type.String(), { description: 'Versions of capabilities whose calls are refused' }),
  chat: Type.Array(Chat),
  media: Type.Array(Media),
  capabilities: Type.Array(Operation),
})

/** The rows as they are answered. */
export interface PriceRows {
  readonly chat: ReturnType<typeof chatPriceRows>
  readonly media: ReturnType<typeof mediaPriceRows>
  readonly capabilities: ReturnType<typeof capabilityPriceRows>
}

/** Prices in their wire form. */
export const priceViews = (rows: PriceRows): Pick<Of<typeof PriceList>, 'chat' | 'media' | 'capabilities'> => ({
  chat: rows.chat.map((row) => ({
    model: row.model,
    enabled: row.enabled,
    version: row.version,
    effective_from: row.effective_from.toISOString(),
    state: row.state,
    input_micro_per_m: integer(row.input_micro_per_m),
    cached_input_micro_per_m: integer(row.cached_input_micro_per_m),
    output_micro_per_m: integer(row.output_micro_per_m),
    margin_input_percent: row.margin?.input ?? null,
    margin_output_percent: row.margin?.output ?? null,
  })),
  media: rows.media.map((row) => ({
    model: row.model,
    enabled: row.enabled,
    type: row.type,
    version: row.version,
    effective_from: row.effective_from.toISOString(),
    state: row.state,
    unit: row.unit,
    tier: row.tier === null ? null : Object.values(row.tier).join(' '),
    unit_price_micro: integer(row.unit_price_micro),
    margin_percent: row.margin ?? null,
  })),
  capabilities: rows.capabilities.map((row) => ({
    capability: row.capability,
    enabled: row.enabled,
    version: row.version,
    is_default: row.is_default,
    operation: row.operation,
    unit: row.unit,
    unit_price_micro: integer(row.unit_price_micro),
    units_max: row.units_max,
  })),
})
