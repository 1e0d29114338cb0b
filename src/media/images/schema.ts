import { Type } from 'typebox'
import { Closed, Micro, Nullable } from '../../http/fields.ts'

const Word = (description: string) => Type.Optional(Nullable(Type.String({ minLength: 1, maxLength: 64, description })))

/** The fields of an image creation that the server reads (spec 4.8, decisions 6). Others are forwarded to the provider. */
export const ImageBody = Type.Object(
  {
    model: Type.String({ minLength: 1, maxLength: 200, description: 'An id of GET /v1/models' }),
    prompt: Type.String({ minLength: 1, maxLength: 32_000 }),
    response_format: Type.Optional(
      Nullable(
        Type.Enum(['url', 'b64_json'], {
          description:
            '`url` (the default) makes a task. `b64_json` answers with the pictures, as soon as they are made.',
        }),
      ),
    ),
    n: Type.Optional(Nullable(Type.Integer({ minimum: 1, maximum: 4, description: 'Pictures; multiplies the price' }))),
    size: Word('Such as 1024x1024'),
    aspect_ratio: Word('Such as 16:9'),
    resolution: Word('Such as 1K, 2K or 4K'),
    quality: Word('As the model has it'),
    output_format: Word('Such as png, jpeg or webp'),
    seed: Type.Optional(Nullable(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }))),
    image_input: Type.Optional(
      Type.Array(Type.String({ minLength: 1 }), {
        maxItems: 16,
        description: 'Pictures to start from: http(s) addresses or data: URLs. As a form also files, `image[]`.',
      }),
    ),
    webhook_url: Type.Optional(
      Nullable(Type.String({ maxLength: 2048, description: 'Told of the end of the task (task.finished)' })),
    ),
    async: Type.Optional(Nullable(Type.Boolean({ description: 'Accepted and ignored' }))),
  },
  { additionalProperties: true, description: 'Fields that are not listed are forwarded to the provider.' },
)

/** OpenAI's answer, for whoever waits for the pictures. */
export const ImagesMade = Closed({
  created: Type.Integer({ description: 'Unix seconds' }),
  data: Type.Array(Closed({ b64_json: Type.Optional(Type.String()), url: Type.Optional(Type.String()) })),
  task_id: Type.String(),
  request_id: Type.String(),
  billing: Closed({
    status: Type.String(),
    reserve_amount_micro: Micro(),
    actual_amount_micro: Nullable(Micro()),
    released_amount_micro: Micro(),
  }),
})
