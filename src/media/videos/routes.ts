import { Type } from 'typebox'
import { Nullable } from '../../http/fields.ts'
import { type Route, route } from '../../http/route.ts'
import type { QuoteDeps } from '../quote.ts'
import { answerTask, creationRefusals, madeOnce } from '../routes.ts'
import type { TaskDeps } from '../tasks/deps.ts'
import { TaskCreated } from '../tasks/schema.ts'
import { videoTask } from './service.ts'

/** What making videos needs. */
export interface VideoRouteDeps extends TaskDeps, QuoteDeps {
  readonly mediaBodyLimit: number
}

const PATH = '/v1/videos/generations'
const Word = (description: string) => Type.Optional(Nullable(Type.String({ minLength: 1, maxLength: 64, description })))
const Address = (description: string) => Type.Optional(Nullable(Type.String({ maxLength: 2048, description })))

const VideoBody = Type.Object(
  {
    model: Type.String({ minLength: 1, maxLength: 200, description: 'An id of GET /v1/models' }),
    prompt: Type.String({ minLength: 1, maxLength: 32_000 }),
    duration: Type.Optional(
      Nullable(Type.Integer({ minimum: 1, maximum: 600, description: 'Seconds; the model has a default' })),
    ),
    resolution: Word('Such as 720p or 1080p'),
    aspect_ratio: Word('Such as 16:9'),
    size: Word('Such as 1280x720'),
    quality: Word('As the model has it'),
    image_input: Type.Optional(
      Type.Array(Type.String({ minLength: 1 }), {
        maxItems: 16,
        description: 'Pictures to start from: http(s) addresses or data: URLs',
      }),
    ),
    webhook_url: Address('Told of the end of the task (task.finished)'),
    callBackUrl: Address('Another name of webhook_url'),
    async: Type.Optional(Nullable(Type.Boolean({ description: 'Accepted and ignored' }))),
  },
  { additionalProperties: true, description: 'Fields that are not listed are forwarded to the provider.' },
)

/** POST /v1/videos/generations and its older path (decisions 6): always a task. */
export function videoRoutes(deps: VideoRouteDeps): Route[] {
  return [PATH, '/v1/video/generations'].map((path) =>
    route({
      method: 'POST',
      path,
      summary: path === PATH ? 'Make a video, as a task to poll.' : 'The older path of /v1/videos/generations.',
      tag: 'Media',
      access: 'spending',
      extension: true,
      body: VideoBody,
      example: { model: 'demo-video', prompt: 'waves', duration: 2 },
      bodyLimit: deps.mediaBodyLimit,
      replies: { 202: TaskCreated },
      refuses: creationRefusals,
      // one name for the key, whichever path is used
      handle: (call) =>
        madeOnce(deps, call, PATH, (claimed) => answerTask(deps, call, claimed, videoTask(deps, call.body))),
    }),
  )
}
