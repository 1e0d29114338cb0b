import { Type } from 'typebox'
import { Keys, NAME_PATTERN, Price, Timeout } from './schema-fields.ts'

const MODEL_ID = '^[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}$'
const Word = (description: string) => Type.String({ minLength: 1, maxLength: 64, description })

const PriceTier = Keys(
  {
    size: Type.Optional(Word('The `size` that it is for, such as `1024x1792`.')),
    resolution: Type.Optional(Word('The `resolution` that it is for, such as `4K` or `1080p`.')),
    quality: Type.Optional(Word('The `quality` that it is for.')),
    unit_price_micro: Price('Microcredits for one unit.'),
    unit_cost_micro: Type.Optional(Price('Microcredits for one unit that the provider charges you.')),
  },
  { description: 'Another price for what asks for all of the fields that it names. The first that fits counts.' },
)

const MediaPriceVersion = Keys(
  {
    version: Type.Integer({
      minimum: 1,
      maximum: 2_147_483_647,
      description: 'Stored with every charge. Never change a version that was in force: add the next.',
    }),
    effective_from: Type.String({
      pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d{1,3})?(Z|[+-]\\d\\d:\\d\\d)$',
      description:
        'When it comes into force: an RFC 3339 time such as `2026-01-01T00:00:00Z`, later than that of the version before.',
    }),
    unit: Type.Enum(['image', 'second', 'clip'], {
      description: 'What is counted: pictures; seconds of a film, or whole films.',
    }),
    unit_price_micro: Price('Microcredits for one unit, where no tier fits.'),
    unit_cost_micro: Type.Optional(Price('Microcredits for one unit that the provider charges you, for the margin.')),
    tiers: Type.Array(PriceTier, {
      maxItems: 100,
      default: [],
      description: 'Other prices, by size, resolution or quality.',
    }),
  },
  { description: 'One version of a price.' },
)

const MediaRoute = Keys(
  {
    provider: Type.String({ pattern: NAME_PATTERN, description: 'The name of a provider above.' }),
    model: Type.String({ minLength: 1, maxLength: 256, description: 'The name of the model at that provider.' }),
    priority: Type.Integer({
      minimum: 0,
      maximum: 1000,
      default: 0,
      description: 'The lowest is tried first; equal ones in the order of the file.',
    }),
  },
  { description: 'A provider that serves the model.' },
)

const MediaModel = Keys(
  {
    id: Type.String({ pattern: MODEL_ID, description: 'What clients send as `model`. Unique among all models.' }),
    name: Type.String({ minLength: 1, maxLength: 128, description: 'The name for people.' }),
    description: Type.String({ maxLength: 2000, default: '', description: 'One or two sentences for people.' }),
    owned_by: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 128,
        description: 'Who made the model. Absent: the name of its first provider.',
      }),
    ),
    created: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 253_402_300_799,
        description: 'Unix seconds. Absent: when its first price came into force.',
      }),
    ),
    type: Type.Enum(['image', 'video'], { description: 'What it makes.' }),
    images_per_call_max: Type.Integer({
      minimum: 1,
      maximum: 4,
      default: 4,
      description: 'The largest `n`. For pictures.',
    }),
    input_images_max: Type.Integer({
      minimum: 0,
      maximum: 16,
      default: 0,
      description: 'How many pictures it takes to start from; 0 refuses them.',
    }),
    default_seconds: Type.Integer({
      minimum: 1,
      maximum: 600,
      default: 5,
      description:
        'How long a film is when the client does not say. Held before the call and also sent to the provider where a second has a price.',
    }),
    seconds_max: Type.Integer({ minimum: 1, maximum: 600, default: 15, description: 'The longest film.' }),
    timeout_ms: Timeout(
      'Milliseconds from the submission until its cost counts as unknown. The work goes on, and its end still counts.',
      900_000,
    ),
    eta_seconds: Type.Integer({
      minimum: 1,
      maximum: 86_400,
      default: 15,
      description: 'How long it usually takes, as clients are told.',
    }),
    enabled: Type.Boolean({
      default: true,
      description: '`false` takes the model out of service and keeps its history.',
    }),
    providers: Type.Array(MediaRoute, {
      minItems: 1,
      maxItems: 16,
      description: 'Who serves it. Another is tried when one refuses.',
    }),
    prices: Type.Array(MediaPriceVersion, {
      maxItems: 1000,
      default: [],
      description: 'Its prices, oldest first. A model without a price in force is refused at start-up.',
    }),
  },
  { description: 'A model that makes pictures or films, as tasks.' },
)

/** All of them. */
export const MediaModels = Type.Array(MediaModel, {
  maxItems: 1000,
  default: [],
  description: 'What makes pictures and films, and what that costs.',
})
