import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, describe, expect, test } from 'vitest'
import { systemClock } from '../kernel/clock.ts'
import type { JobReference, JobState, MediaEnd, MediaJob, MediaProvider, Submitted } from './media.ts'
import { createMediaProvider, type MediaProviderKind } from './media-kinds.ts'

/** Runs every kind of media provider against the same orders. The demo provider also plays the servers of the wire kinds. */
const API_KEY = 'sk-planted-0123456789abcdef'
const demo = createMediaProvider('demo', { clock: systemClock, slowMs: 100 })
const jobs = new Map<string, JobReference>()
const server = createServer(async (request, response) => {
  const body = await bodyOf(request)
  if (request.method === 'GET') return void send(response, 200, stateOf(await asked(request.url ?? '')))
  const submitted = await demo.submit(jobOf(body, request))
  const poll = request.url === '/images/generations' && submitted.kind === 'accepted'
  await answerOverHttp(response, poll ? await endOf(demo, submitted) : submitted)
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')

const reached = {
  name: 'mock',
  baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  apiKey: API_KEY,
  connections: 4,
  connectTimeoutMs: 10_000,
  headersTimeoutMs: 10_000,
  idleTimeoutMs: 10_000,
  maxResponseBytes: 1024 * 1024,
}
const makers: Record<MediaProviderKind, () => MediaProvider> = {
  demo: () => createMediaProvider('demo', { clock: systemClock }),
  'openai-compatible': () => createMediaProvider('openai-compatible', reached),
  'task-api': () =>
    createMediaProvider('task-api', {
      ...reached,
      submit: {
        path: '/jobs',
        body: '{"...": "{{input}}", "model": "{{model}}"}',
        headers: { 'idempotency-key': '{{attempt_id}}' },
        id: '/id',
        errorMessage: '/error/message',
      },
      poll: {
        path: '/jobs/{{job_id}}',
        everyMs: 20,
        state: '/kind',
        states: { running: 'generating', succeeded: 'succeeded', failed: 'failed' },
        progressFull: 1,
        files: '/files/*/url',
        units: '/units',
      },
      failuresBilled: false,
      now: () => Date.now(),
    }),
}

afterAll(async () => {
  await demo.close()
  server.closeAllConnections()
  server.close()
})

describe.each(Object.keys(makers) as MediaProviderKind[])('a media provider of kind %s', (kind) => {
  const provider = makers[kind]()
  afterAll(() => provider.close())
  let attempts = 0
  const submit = (prompt: string, more: Partial<MediaJob> = {}) => {
    attempts += 1
    return provider.submit({
      type: 'image',
      model: 'failing',
      input: { prompt, size: '16x16', n: 2 },
      images: [],
      attemptId: `${kind}-${attempts}`,
      callbackUrl: undefined,
      ...more,
    })
  }

  test('makes the files that were ordered, and tells how many units it counted', async () => {
    const end = await endOf(provider, await submit('a fox'))
    expect(end).toMatchObject({ kind: 'succeeded', units: 2 })
    if (end.kind !== 'succeeded') return
    expect(end.files).toHaveLength(2)
    expect(new Set(end.files.map((file) => Buffer.from(bytesOf(file)).toString('base64'))).size).toBe(2)
    for (const file of end.files) expect(Buffer.from(bytesOf(file)).toString('latin1', 1, 4)).toBe('PNG')
  })

  test.each([
    [400, false],
    [404, false],
    [409, true],
    [429, true],
    [500, true],
    [503, true],
  ])('calls a submission that was answered %i refused, retryable: %s', async (status, retryable) => {
    expect(await submit(`fail:${status}`)).toMatchObject({
      kind: 'refused',
      status,
      retryable,
      message: expect.stringContaining(String(status)),
    })
  })

  test('passes on how long to wait after 429', async () => {
    expect(await submit('fail:429')).toMatchObject({ retryAfterMs: 1000 })
  })

  test('calls a submission lost whose answer broke off', async () => {
    expect(await submit('fail:gone')).toMatchObject({ kind: 'lost' })
  })

  test('does not call anyone when the attempt was aborted before', async () => {
    expect(await submit('a fox', { signal: AbortSignal.abort() })).toMatchObject({ kind: 'refused', status: undefined })
  })

  test('knows no job that was never made', async () => {
    expect(await provider.poll({ providerJobId: 'none', model: 'failing', memo: undefined })).toEqual({
      kind: 'missing',
    })
  })

  test('refuses what it cannot make, and does not try again', async () => {
    expect(await submit('a fox', { input: { prompt: 'a fox', size: 'huge' } })).toMatchObject({
      kind: 'refused',
      retryable: false,
    })
  })

  test('never says its key', async () => {
    const said = [await submit('fail:400'), await submit('fail:500'), await submit('fail:gone')]
    expect(JSON.stringify(said)).not.toContain(API_KEY)
  })
})

/** Asks until a job is over. */
async function endOf(provider: MediaProvider, submitted: Submitted): Promise<MediaEnd> {
  if (submitted.kind === 'succeeded' || submitted.kind === 'failed') return submitted
  if (submitted.kind !== 'accepted') throw new Error(`the submission ended as ${submitted.kind}`)
  for (;;) {
    const state = await provider.poll({ ...submitted, model: 'failing' })
    if (state.kind === 'succeeded' || state.kind === 'failed') return state
    if (state.kind !== 'running') throw new Error(`the job is ${state.kind}`)
    await new Promise(setImmediate)
  }
}

const bytesOf = (file: Extract<MediaEnd, { kind: 'succeeded' }>['files'][number]): Uint8Array =>
  file.kind === 'bytes' ? file.bytes : Buffer.from(file.url.split(',')[1] ?? '', 'base64')

function jobOf(body: string, request: IncomingMessage): MediaJob {
  const { model, ...input } = JSON.parse(body) as { model: string }
  const attemptId = String(request.headers['idempotency-key'])
  return { type: 'image', model, input, images: [], attemptId, callbackUrl: undefined }
}

async function asked(url: string): Promise<JobState> {
  const job = jobs.get(url.split('/').at(-1) ?? '')
  return job ? demo.poll(job) : { kind: 'missing' }
}

const encoded = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')

/** A state as JSON, its files as `data:` URLs. */
function stateOf(state: JobState): object {
  if (state.kind !== 'succeeded') return state
  return { ...state, files: state.files.map((file) => ({ url: `data:image/png;base64,${encoded(bytesOf(file))}` })) }
}

async function answerOverHttp(response: ServerResponse, outcome: Submitted): Promise<void> {
  if (outcome.kind === 'accepted') {
    jobs.set(outcome.providerJobId, { ...outcome, model: 'failing' })
    send(response, 200, { id: outcome.providerJobId })
  } else if (outcome.kind === 'succeeded') {
    send(response, 200, { created: 1, data: outcome.files.map((file) => ({ b64_json: encoded(bytesOf(file)) })) })
  } else if (outcome.kind === 'refused') {
    const wait = outcome.retryAfterMs ? { 'retry-after': String(outcome.retryAfterMs / 1000) } : {}
    const said = { error: { message: `${outcome.message} Your key is ${API_KEY}.` } }
    send(response, outcome.status ?? 503, said, wait)
  } else response.writeHead(200, { 'content-type': 'application/json' }).write('{"half":', () => response.destroy())
}

function send(response: ServerResponse, status: number, body: object, headers: Record<string, string> = {}): void {
  const missing = 'kind' in body && body.kind === 'missing'
  response
    .writeHead(missing ? 404 : status, { 'content-type': 'application/json', ...headers })
    .end(JSON.stringify(body))
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const piece of request) text += piece
  return text
}
