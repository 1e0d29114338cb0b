import { Type } from 'typebox'
import { MICROCREDITS_MAX, toJsonInteger } from '../kernel/money.ts'
import { Keys } from './schema-fields.ts'

const FIELD_PATH = '^[A-Za-z0-9_-]+(\\.[A-Za-z0-9_-]+){0,7}$'

/** Where a provider's own record of a call is found. */
export const UsageLookup = Keys(
  {
    path: Type.String({
      pattern: '^/[!-~]{1,500}$',
      description:
        'Added to `base_url`, with `{response_id}` (of the answer), `{provider_request_id}` (of its headers) or `{request_id}` (ours, sent as `x-request-id`).',
    }),
    input_tokens: Type.String({
      pattern: FIELD_PATH,
      description: 'Where the record has the input tokens, such as `data.native_tokens_prompt`.',
    }),
    output_tokens: Type.String({ pattern: FIELD_PATH, description: 'Where it has the output tokens.' }),
    cached_input_tokens: Type.Optional(
      Type.String({ pattern: FIELD_PATH, description: 'Where it has the input tokens that came from its cache.' }),
    ),
  },
  { description: "Where the provider's own record of a call is found, for `farebox hold lookup`." },
)

/** What concerns everybody's Credits. */
export const Credits = Keys(
  {
    balance_low_micro: Type.Integer({
      minimum: 0,
      maximum: toJsonInteger(MICROCREDITS_MAX),
      default: 1_000_000,
      description:
        'An account is told (`balance.low`) when its balance falls below so many microcredits, once each time. 0 tells nobody; `farebox credits alert` sets it for one account.',
    }),
  },
  { default: {}, description: "What concerns everybody's Credits." },
)
