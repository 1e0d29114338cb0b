import { Type } from 'typebox'
import { MICROCREDITS_MAX, toJsonInteger } from '../kernel/money.ts'
import { Axon } from './schema-axon.ts'
import { Keys } from './schema-fields.ts'

const ADDRESS_PATTERN = '^0x[0-9a-fA-F]{40}$'

const Micro = (description: string) =>
  Type.Optional(Type.Integer({ minimum: 1, maximum: toJsonInteger(MICROCREDITS_MAX), description }))
const Blocks = (description: string) => Type.Optional(Type.Integer({ minimum: 1, maximum: 100_000, description }))

const Confirmations = Keys(
  {
    blocks: Blocks('Blocks that a small payment waits for, its own included. Absent: 10, on Polygon 64.'),
    blocks_up_to_micro: Micro('What counts as small, in micro units of the asset. Absent: 100000000.'),
    safe_up_to_micro: Micro(
      'Up to this a payment waits for the `safe` block of the chain, above it for the `finalized` one. Absent: 1000000000.',
    ),
    single_node_blocks: Blocks(
      'Blocks that every payment waits for where only one node is asked. Absent: it waits for the `finalized` block.',
    ),
  },
  { default: {}, description: 'How deep a payment must be buried before it is credited.' },
)

const Asset = Keys(
  {
    recipient: Type.String({
      pattern: ADDRESS_PATTERN,
      description: 'Where payments go: a plain account of yours, in quotes. The server never needs its key.',
    }),
    rpc_urls_env: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z_][A-Za-z0-9_]{0,127}$',
        description:
          'The name of the environment variable that holds the addresses of nodes of this chain, with commas between them; addresses often hold keys. `<NAME>_FILE` works too.',
      }),
    ),
    rpc_urls: Type.Array(Type.String({ pattern: '^https?://[^\\s@]+$', maxLength: 2048 }), {
      maxItems: 8,
      default: [],
      description:
        'Addresses of nodes without a key in them. Give two nodes of different operators: every payment must be confirmed by each. With one, only `finalized` counts.',
    }),
    rpc_timeout_ms: Type.Optional(
      Type.Integer({
        minimum: 100,
        maximum: 60_000,
        description:
          'Milliseconds in which a node must answer before it counts as silent. The first asset of a chain decides. Absent: 3000.',
      }),
    ),
    rate_ppm: Micro('Micro units of the asset for one Credit. Absent: 1000000, one to one.'),
    min_amount_micro: Micro('The smallest payment in micro units of the asset. Absent: 1000000.'),
    max_amount_micro: Micro('The largest payment in micro units of the asset. Absent: 100000000000.'),
    confirmations: Confirmations,
    retired_recipients: Type.Array(Type.String({ pattern: ADDRESS_PATTERN }), {
      maxItems: 100,
      default: [],
      description: 'Former recipients. They stay watched, and what still arrives there is put up for review.',
    }),
    first_block: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        description:
          'The block from which on transfers are looked for when the token or a recipient is new here. Absent: 10000 blocks back from where the chain was read to.',
      }),
    ),
    enabled: Type.Boolean({
      default: true,
      description: '`false` takes no new orders; payments of open ones are still credited.',
    }),
  },
  { description: 'An asset that is accepted.' },
)

const Facilitator = Keys(
  {
    url: Type.String({
      pattern: '^https?://[^\\s?#@]+$',
      maxLength: 2048,
      description: 'Its http:// or https:// address; `/verify` and `/settle` are below it.',
    }),
    api_key_env: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z_][A-Za-z0-9_]{0,127}$',
        description:
          'The name of the environment variable that holds its API key, sent as a Bearer token. `<NAME>_FILE` works too.',
      }),
    ),
    verify_timeout_ms: Type.Integer({
      minimum: 100,
      maximum: 60_000,
      default: 5_000,
      description:
        'Milliseconds in which `/verify` must answer; after that nothing is sent, and the client is told to come back.',
    }),
    settle_timeout_ms: Type.Integer({
      minimum: 100,
      maximum: 120_000,
      default: 20_000,
      description:
        'Milliseconds after which `/settle` is hung up on. Nobody waits for it: what was paid is read from the chain.',
    }),
  },
  {
    description:
      'Somebody else who sends the authorizations and pays the gas, instead of the relayer. Its word is never believed: what was paid is read from the chain.',
  },
)

const X402 = Keys(
  {
    asset: Type.String({
      pattern: '^[a-z0-9][a-z0-9_]{0,63}$',
      description: 'Which of the assets above is taken. Its nodes are asked, and its rate applies.',
    }),
    pay_to: Type.Optional(
      Type.String({
        pattern: ADDRESS_PATTERN,
        description: 'Where these payments go, in quotes: a plain account. Absent: the recipient of the asset.',
      }),
    ),
    min_amount_micro: Type.Integer({
      minimum: 1,
      maximum: toJsonInteger(MICROCREDITS_MAX),
      default: 1,
      description: 'The smallest payment in micro units of the asset. Each one costs you gas: 10000 is a sound bound.',
    }),
    max_amount_micro: Type.Integer({
      minimum: 1,
      maximum: toJsonInteger(MICROCREDITS_MAX),
      default: 10_000_000_000,
      description: 'The largest payment in micro units of the asset.',
    }),
    confirmations: Type.Integer({
      minimum: 1,
      maximum: 10_000,
      default: 3,
      description:
        'Blocks that a small payment waits for, its own included. What counts as small, and how long larger ones wait, is said by `confirmations` of the asset.',
    }),
    gas_price_max_gwei: Type.Integer({
      minimum: 1,
      maximum: 100_000,
      default: 100,
      description: 'The most that the relayer pays for a unit of gas. Above it payments are refused with 503, unsent.',
    }),
    gas_alarm_payments: Type.Integer({
      minimum: 1,
      maximum: 1_000_000,
      default: 200,
      description: 'The relayer needs more gas money when it lasts for fewer payments than this.',
    }),
    payments_per_minute_per_payer: Type.Integer({
      minimum: 1,
      maximum: 100_000,
      default: 30,
      description: 'New payments of one wallet in a minute; over it 429.',
    }),
    facilitator: Type.Optional(Facilitator),
  },
  { description: 'Top-ups by x402: an Agent signs, and FAREBOX_RELAYER_KEY sends. Absent: there are none.' },
)

/** What is accepted as payment. */
export const Payments = Keys(
  {
    assets: Type.Record(Type.String({ pattern: '^[a-z0-9][a-z0-9_]{0,63}$' }), Asset, {
      additionalProperties: false,
      default: {},
      description:
        'Accepted assets by id: `base_usdc`, `base_sepolia_usdc`, `polygon_usdc`. `npm start` adds `dev_usdc` by itself.',
    }),
    x402: Type.Optional(X402),
    axon: Type.Optional(Axon),
  },
  { default: {}, description: 'What people pay with.' },
)
