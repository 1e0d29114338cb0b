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

/** What is accepted as payment. */
export const Payments = Keys(
  {
    assets: Type.Record(Type.String({ pattern: '^[a-z0-9][a-z0-9_]{0,63}$' }), Asset, {
      additionalProperties: false,
      default: {},
      description:
        'Accepted assets by id: `base_usdc`, `base_sepolia_usdc`, `polygon_usdc`. `npm start` adds `dev_usdc` by itself.',
    }),
    axon: Type.Optional(Axon),
  },
  { default: {}, description: 'What people pay with.' },
)
