import { Type } from 'typebox'
import { MICROCREDITS_MAX, toJsonInteger } from '../kernel/money.ts'
import { ENVIRONMENT_NAME, Keys, Timeout } from './schema-fields.ts'

const ADDRESS_PATTERN = '^0x[0-9a-fA-F]{40}$'
const URL_PATTERN = '^https?://[^\\s@]+$'

const Url = (description: string) => Type.String({ pattern: URL_PATTERN, maxLength: 2048, description })
const Micro = (description: string, fallback: number) =>
  Type.Integer({ minimum: 1, maximum: toJsonInteger(MICROCREDITS_MAX), default: fallback, description })
const Blocks = (description: string) => Type.Integer({ minimum: 1, maximum: 100_000, description })
const Usd = (description: string, fallback: string) =>
  Type.String({ pattern: '^\\d{1,10}(\\.\\d{1,6})?$', default: fallback, description })
const Pointer = (description: string) =>
  Type.String({ pattern: '^(/[^/\\s]{1,128}){1,16}$', maxLength: 1024, description })
const MaxAge = (fallback: number) =>
  Type.Integer({
    minimum: 1,
    maximum: 86_400,
    default: fallback,
    description: 'Seconds after which a rate is no longer used: quotes are then refused with `rate_unavailable`.',
  })

const FixedRate = Keys(
  {
    kind: Type.Literal('fixed', { description: 'You say what a coin is worth, and change it here.' }),
    usd: Type.String({
      pattern: '^\\d{1,10}(\\.\\d{1,18})?$',
      description: 'Dollars for one coin, in quotes: `"2500.5"`. One dollar is one Credit.',
    }),
  },
  { description: 'A rate of kind `fixed`.' },
)

const RateSource = Keys(
  {
    url: Type.Optional(Url('Its address, without a key in it.')),
    url_env: Type.Optional(
      Type.String({
        pattern: ENVIRONMENT_NAME,
        description:
          'The name of the environment variable that holds its address, where that has a key in it. `<NAME>_FILE` works too.',
      }),
    ),
    pointer: Pointer('Where in its JSON the dollars for one coin are, as a JSON Pointer: `/data/price`.'),
    time_pointer: Type.Optional(
      Pointer('Where the Unix time of that rate is, in seconds. Absent: a rate is as old as its answer.'),
    ),
  },
  { description: 'A source of rates: an address that answers GET with JSON.' },
)

const HttpRate = Keys(
  {
    kind: Type.Literal('http', { description: 'The median of what several sources say.' }),
    sources: Type.Array(RateSource, {
      minItems: 2,
      maxItems: 9,
      description: 'Two or more; at least two must answer and agree.',
    }),
    timeout_ms: Timeout('Milliseconds that each source has to answer, to the last byte.', 3_000),
    max_age_seconds: MaxAge(120),
    max_deviation_percent: Type.Integer({
      minimum: 1,
      maximum: 50,
      default: 5,
      description: 'A source that is further from the median than this does not count.',
    }),
  },
  { description: 'A rate of kind `http`.' },
)

const FeedRate = Keys(
  {
    kind: Type.Literal('feed', { description: 'An aggregator on the same chain, read with `latestRoundData`.' }),
    address: Type.String({ pattern: ADDRESS_PATTERN, description: 'Its address, in quotes: coin against dollar.' }),
    max_age_seconds: MaxAge(3_900),
  },
  { description: 'A rate of kind `feed`.' },
)

const Confirmations = Keys(
  {
    blocks: Type.Integer({
      minimum: 1,
      maximum: 100_000,
      default: 10,
      description: 'Blocks that a small payment waits for, its own included.',
    }),
    blocks_up_to_micro: Micro('What counts as small, in microcredits.', 100_000_000),
    safe_up_to_micro: Micro(
      'Up to this a payment waits for the `safe` block of the chain, above it for the `finalized` one.',
      1_000_000_000,
    ),
    single_node_blocks: Type.Optional(
      Blocks(
        'Blocks that every payment waits for where only one node is asked. Absent: it waits for the `finalized` block.',
      ),
    ),
  },
  { default: {}, description: 'How deep a payment must be buried before it is credited, by its worth.' },
)

/** A chain's own coin as a means of payment. */
export const Axon = Keys(
  {
    enabled: Type.Boolean({
      default: true,
      description: '`false` makes no new quotes; payments of earlier ones are still credited.',
    }),
    chain_id: Type.Integer({ minimum: 1, maximum: 9_007_199_254_740_991, description: 'The number of the chain.' }),
    network_name: Type.String({ minLength: 1, maxLength: 64, description: 'What the chain is called.' }),
    symbol: Type.String({ pattern: '^[A-Za-z0-9.]{1,16}$', description: 'What its coin is called, such as `ETH`.' }),
    pay_to_address: Type.String({
      pattern: ADDRESS_PATTERN,
      description: 'Where payments go: a plain account of yours, in quotes. The server never needs its key.',
    }),
    retired_addresses: Type.Array(Type.String({ pattern: ADDRESS_PATTERN }), {
      maxItems: 100,
      default: [],
      description: 'Former ones. A hash that paid there is put up for review.',
    }),
    rpc_urls_env: Type.Optional(
      Type.String({
        pattern: ENVIRONMENT_NAME,
        description:
          'The name of the environment variable that holds the addresses of nodes of this chain, with commas between them. `<NAME>_FILE` works too.',
      }),
    ),
    rpc_urls: Type.Array(Type.String({ pattern: URL_PATTERN, maxLength: 2048 }), {
      maxItems: 8,
      default: [],
      description: 'Addresses of nodes without a key in them. Give two of different operators: each must confirm.',
    }),
    public_rpc_url: Url('The node that payers are told of: a public one.'),
    explorer_url: Type.String({
      pattern: '^(https?://[^\\s@]+)?$',
      maxLength: 2048,
      default: '',
      description: 'The explorer that payers are told of. Empty: none.',
    }),
    min_topup_usd: Usd('The smallest top-up in dollars, in quotes.', '1'),
    max_topup_usd: Usd('The largest.', '10000'),
    unquoted: Type.Enum(['review', 'spot'], {
      default: 'review',
      description:
        'A payment without a quote of its amount is reviewed, or credited at the rate of its block (`spot`).',
    }),
    confirmations: Confirmations,
    safe_blocks: Type.Integer({
      minimum: 1,
      maximum: 100_000,
      default: 65,
      description: 'How far `safe` lies behind the head, for nodes that do not know the word.',
    }),
    finalized_blocks: Type.Integer({
      minimum: 1,
      maximum: 100_000,
      default: 600,
      description: 'How far `finalized` lies behind the head, for nodes that do not know the word.',
    }),
    rate: Type.Union([FixedRate, HttpRate, FeedRate], { description: 'What a coin is worth.' }),
  },
  { description: "Top-up with a chain's own coin. `npm start` takes the coin of its own chain." },
)
