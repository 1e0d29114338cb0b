import { exampleKeys } from '../config/shipped.fixture.ts'

/** What a service says and wants to hear. */
export interface Shape {
  /** The answer to a submission; the id is `job-1`. */
  readonly accepted: (origin: string) => unknown
  /** What a submission should look like. */
  readonly submission: { readonly url: string; readonly body: unknown; readonly authorization: string | undefined }
  readonly queuing: unknown
  readonly generating: unknown
  readonly done: unknown
  readonly failed: unknown | undefined
  /** Where the files are asked for, when that is a question of its own. */
  readonly result?: readonly [url: string, answer: unknown]
  readonly pollUrl: string
  readonly cancelUrl: string | undefined
  readonly refusal: unknown
}

/** The file that every job ends with. */
export const FILE = 'https://files.example/1.png'

/** The services that farebox.yaml describes as examples, by their names there. */
export const shapes: Readonly<Record<string, Shape>> = {
  replicate: {
    accepted: (origin) => ({
      id: 'job-1',
      status: 'starting',
      urls: { get: `${origin}/predictions/job-1?from=urls`, cancel: `${origin}/predictions/job-1/cancel` },
    }),
    submission: {
      url: '/models/artist/painter/predictions',
      authorization: `Bearer ${exampleKeys.REPLICATE_API_TOKEN}`,
      body: {
        input: { prompt: 'a fox', seed: 7, image: 'https://pictures.example/1.png' },
        webhook: 'https://us.example/callback',
        webhook_events_filter: ['completed'],
      },
    },
    queuing: { id: 'job-1', status: 'starting' },
    generating: { id: 'job-1', status: 'processing' },
    done: { id: 'job-1', status: 'succeeded', output: FILE },
    failed: { id: 'job-1', status: 'failed', error: 'no good' },
    pollUrl: '/predictions/job-1?from=urls',
    cancelUrl: 'POST /predictions/job-1/cancel',
    refusal: { detail: 'no good' },
  },
  fal: {
    accepted: (origin) => ({
      request_id: 'job-1',
      status_url: `${origin}/artist/requests/job-1/status`,
      response_url: `${origin}/artist/requests/job-1`,
      cancel_url: `${origin}/artist/requests/job-1/cancel`,
    }),
    submission: {
      url: '/artist/painter?fal_webhook=https%3A//us.example/callback',
      authorization: `Key ${exampleKeys.FAL_KEY}`,
      body: { prompt: 'a fox', seed: 7, image_url: 'https://pictures.example/1.png' },
    },
    queuing: { status: 'IN_QUEUE', queue_position: 1 },
    generating: { status: 'IN_PROGRESS' },
    done: { status: 'COMPLETED' },
    failed: undefined,
    result: ['/artist/requests/job-1', { images: [{ url: FILE, width: 1 }], seed: 7 }],
    pollUrl: '/artist/requests/job-1/status',
    cancelUrl: 'PUT /artist/requests/job-1/cancel',
    refusal: { detail: 'no good' },
  },
  kie: {
    accepted: () => ({ code: 200, msg: 'success', data: { taskId: 'job-1' } }),
    submission: {
      url: '/jobs/createTask',
      authorization: `Bearer ${exampleKeys.KIE_API_KEY}`,
      body: {
        model: 'artist/painter',
        callBackUrl: 'https://us.example/callback',
        input: { prompt: 'a fox', seed: 7, image_urls: ['https://pictures.example/1.png'] },
      },
    },
    queuing: { code: 200, data: { taskId: 'job-1', state: 'waiting' } },
    generating: { code: 200, data: { taskId: 'job-1', state: 'generating' } },
    done: {
      code: 200,
      data: { taskId: 'job-1', state: 'success', resultJson: JSON.stringify({ resultUrls: [FILE] }) },
    },
    failed: { code: 200, data: { taskId: 'job-1', state: 'fail', failCode: '422', failMsg: 'no good' } },
    pollUrl: '/jobs/recordInfo?taskId=job-1',
    cancelUrl: undefined,
    refusal: { code: 422, msg: 'no good' },
  },
}
