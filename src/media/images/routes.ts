import type { Claimed } from '../../billing/idempotency/service.ts'
import { sendStored } from '../../http/repeats.ts'
import { type Route, route } from '../../http/route.ts'
import type { JsonObject } from '../../providers/provider.ts'
import type { QuoteDeps } from '../quote.ts'
import type { ResultKeeper } from '../results-port.ts'
import {
  acceptedAnswer,
  answerTask,
  creationRefusals,
  formFields,
  jsonHeaders,
  madeOnce,
  type TaskCall,
} from '../routes.ts'
import type { TaskDeps } from '../tasks/deps.ts'
import { TaskCreated } from '../tasks/schema.ts'
import { createTask } from '../tasks/service.ts'
import { ImageBody, ImagesMade } from './schema.ts'
import { imageTask } from './service.ts'
import { ended, imagesMade, stillRunning } from './waited.ts'

/** What making images needs. */
export interface ImageRouteDeps extends TaskDeps, QuoteDeps {
  readonly results: ResultKeeper
  readonly mediaBodyLimit: number
}

const PATH = '/v1/images/generations'
/** How long a client is kept waiting that can only take pictures, and the longest that another may ask for. */
const WAIT_MS_MAX = 300_000

/** POST /v1/images/generations (spec 4.8): a task, or for whoever waits OpenAI's answer. */
export function imageRoutes(deps: ImageRouteDeps): Route[] {
  return [
    route({
      method: 'POST',
      path: PATH,
      summary: 'Make images: a task to poll, or with `b64_json` or `Prefer: wait` the images themselves.',
      description:
        'JSON or multipart/form-data with files as `image[]`. `Prefer: wait` waits for the images, `Prefer: wait=20` for 20 seconds; when that is too short the answer is the task.',
      tag: 'Media',
      access: 'spending',
      body: ImageBody,
      example: { model: 'demo-image', prompt: 'a lighthouse at night', n: 1 },
      bodyLimit: deps.mediaBodyLimit,
      fromForm: async (form) => {
        const { image, ...fields } = await formFields(form, {
          lists: ['image', 'image_input'],
          numbers: ['n', 'seed'],
          booleans: ['async'],
        })
        const pictures = [fields.image_input, image].filter(Array.isArray).flat()
        return pictures.length > 0 ? { ...fields, image_input: pictures } : fields
      },
      replies: { 200: ImagesMade, 202: TaskCreated },
      refuses: [
        ...creationRefusals,
        'upstream_refused',
        'upstream_failed',
        'upstream_interrupted',
        'task_canceled',
        'task_running',
      ],
      handle: (call) =>
        madeOnce(deps, call, PATH, (claimed) => {
          const body = withFormat(call)
          const waitMs = patience(call.request.headers.prefer, body)
          const wanted = imageTask(deps, body)
          return waitMs === undefined
            ? answerTask(deps, call, claimed, wanted)
            : answerImages(deps, call, claimed, { wanted, waitMs })
        }),
    }),
  ]
}

/** The AI SDK takes nothing but pictures and, in its newer versions, does not say so. */
const TAKES_PICTURES_ONLY = /\bai-sdk[-/]/

/** The request with the format that its client can take. */
function withFormat({ request, body }: TaskCall): JsonObject {
  const isSilent = body.response_format === undefined || body.response_format === null
  const isPatient = isSilent && TAKES_PICTURES_ONLY.test(request.headers['user-agent'] ?? '')
  return isPatient ? { ...body, response_format: 'b64_json' } : body
}

/** How long the client waits for the pictures; undefined: it takes a task. */
function patience(header: unknown, body: JsonObject): number | undefined {
  const prefer = /(?:^|[,;\s])wait(?:=(\d{1,4}))?(?:$|[,;\s])/.exec(String(header ?? ''))
  if (prefer) return prefer[1] === undefined ? WAIT_MS_MAX : Math.min(WAIT_MS_MAX, Number(prefer[1]) * 1000)
  return body.response_format === 'b64_json' ? WAIT_MS_MAX : undefined
}

async function answerImages(
  deps: ImageRouteDeps,
  call: TaskCall,
  claimed: Claimed | undefined,
  { wanted, waitMs }: { wanted: ReturnType<typeof imageTask>; waitMs: number },
): Promise<unknown> {
  const created = await createTask(deps, { ...wanted, caller: call.caller, requestId: call.requestId })
  const task = await ended(deps, created.id, waitMs)
  if (!task) {
    // who asked to wait can take a task; who only asked for pictures is told where they will be
    if (call.request.headers.prefer === undefined) throw stillRunning(created.id)
    const accepted = acceptedAnswer(deps, created)
    await claimed?.complete(accepted)
    return sendStored(call.reply, accepted)
  }
  const body: JsonObject = await imagesMade(deps, task)
  const answer = {
    status: 200,
    headers: { ...jsonHeaders(task), 'x-credits-charged-micro': String(task.actual_micro ?? 0n) },
    body: JSON.stringify(body),
  }
  await claimed?.complete(answer)
  return sendStored(call.reply, answer)
}
