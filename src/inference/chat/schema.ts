import { Type } from 'typebox'
import { Closed, Micro, Nullable } from '../../http/fields.ts'

const TokenBound = (description: string) =>
  Type.Optional(Nullable(Type.Integer({ minimum: 1, maximum: 10_000_000, description })))

/** The fields of a chat call that the server reads. All others are forwarded to the provider as they are. */
export const ChatBody = Type.Object(
  {
    model: Type.String({ minLength: 1, maxLength: 200, description: 'An id of GET /v1/models' }),
    messages: Type.Array(
      Type.Object(
        {
          role: Type.String({ minLength: 1 }),
          content: Type.Optional(
            Nullable(
              Type.Union([
                Type.String(),
                Type.Array(Type.Object({ type: Type.String() }, { additionalProperties: true })),
              ]),
            ),
          ),
        },
        { additionalProperties: true },
      ),
      { minItems: 1, maxItems: 10_000 },
    ),
    stream: Type.Optional(Nullable(Type.Boolean())),
    stream_options: Type.Optional(
      Nullable(Type.Object({ include_usage: Type.Optional(Nullable(Type.Boolean())) }, { additionalProperties: true })),
    ),
    max_tokens: TokenBound(
      'The most output tokens of each choice. Without one the model’s default is held, and clamped to what the funds cover.',
    ),
    max_completion_tokens: TokenBound('The newer name of max_tokens.'),
    n: Type.Optional(
      Nullable(Type.Integer({ minimum: 1, maximum: 128, description: 'Choices; multiplies what is held' })),
    ),
  },
  {
    additionalProperties: true,
    description: 'OpenAI’s chat completion request. Fields that are not listed are forwarded to the provider.',
  },
)

/** OpenAI's chat completion, with `usage.cost_micro`. It is the provider's answer, so it is passed on whole. */
export const ChatCompletion = Type.Object(
  {
    id: Type.String(),
    object: Type.String(),
    created: Type.Integer(),
    model: Type.String(),
    choices: Type.Array(Type.Object({}, { additionalProperties: true })),
    usage: Type.Optional(
      Type.Object(
        {
          prompt_tokens: Type.Integer(),
          completion_tokens: Type.Integer(),
          total_tokens: Type.Integer(),
          cost_micro: Micro('What the call cost, in microcredits'),
        },
        { additionalProperties: true },
      ),
    ),
  },
  { additionalProperties: true },
)

/** What a call would hold and cost at most. */
export const ChatEstimate = Closed({
  model: Type.String(),
  hold_micro: Micro('What the call holds while it runs, and the most it can cost'),
  minimum_hold_micro: Micro(
    'The least it can be clamped to when funds cover less; equal to hold_micro with an explicit bound',
  ),
  input_tokens_bound: Type.Integer(),
  output_tokens_bound: Type.Integer(),
  price_version: Type.Integer(),
  request_id: Type.String(),
})
