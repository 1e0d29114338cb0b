import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { loadConfig } from '../config/config.ts'
import { exampleKeys, shippedWithExamples } from '../config/shipped.fixture.ts'
import type { Clock } from '../kernel/clock.ts'
import type { JobReference, MediaJob, MediaProvider, Submitted } from '../providers/media.ts'
import { FILE, shapes } from './described-services.fixture.ts'
import { openMediaProviders } from './media-providers.ts'

/** Runs the services that farebox.yaml describes as examples, each against a server that answers in its shape. */
type Answer = (request: IncomingMessage, response: ServerResponse, body: string) => void

const seen: {
  method: string | undefined
  url: string | undefined
  headers: IncomingMessage['headers']
  body: string
}[] = []
let answer: Answer = () => {}
const server = createServer(async (request, response) => {
  let body = ''
  for await (const piece of request) body += piece
  seen.push({ method: request.method, url: request.url, headers: request.headers, body })
  answer(request, response, body)
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
let nowMs = Date.UTC(2026, 10, 1)
const clock: Clock = { now: () => new Date(nowMs), monotonicMs: () => nowMs }

const yaml = shippedWithExamples()
  .replace(
    /base_url: https:\/\/(api\.replicate\.com\/v1|queue\.fal\.run|api\.kie\.ai\/api\/v1|studio\.example\.com)/g,
    `base_url: ${origin}`,
  )
  .replace(/^( +)kind: task-api$/gm, '$1kind: task-api\n$1max_response_bytes: 10000')
  .replace(/^ +(max_response_bytes: 4194304|headers_timeout_ms: 60000).*\n/gm, '')
  .replace(/^( +)kind: task-api$/gm, '$1kind: task-api\n$1headers_timeout_ms: 300')
const { config, secrets } = loadConfig({
  environment: exampleKeys,
  readFile: (path) => (path === 'farebox.yaml' ? yaml : undefined),
  now: new Date(nowMs),
  mode: 'development',
})
const providers = openMediaProviders({ config, secrets, clock })

afterAll(async () => {
  await Promise.all(Object.values(providers).map((provider) => provider.close()))
  server.closeAllConnections()
  server.close()
})
beforeEach(() => {
  seen.length = 0
})

const json =
  (value: unknown, status = 200, headers: Record<string, string> = {}): Answer =>
  (_request, response) =>
    void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value))
const html: Answer = (_request, response) =>
  void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>welcome</html>')
const hang: Answer = () => {}
const cut: Answer = (_request, response) => void response.destroy()
const huge: Answer = (_request, response) => void response.end(`{"x":"${'x'.repeat(20_000)}"}`)

const named = (name: string): MediaProvider => providers[name] as MediaProvider
const job: MediaJob = {
  type: 'image',
  model: 'artist/painter',
  input: { prompt: 'a fox', seed: 7 },
  images: [{ url: 'https://pictures.example/1.png', read: async () => undefined }],
  attemptId: 'attempt-1',
  callbackUrl: 'https://us.example/callback',
}
const reference = (submitted: Submitted): JobReference => ({
  model: job.model,
  providerJobId: submitted.kind === 'accepted' ? submitted.providerJobId : '',
  memo: submitted.kind === 'accepted' ? submitted.memo : undefined,
})

describe.each(Object.entries(shapes))('a service described as %s', (name, shape) => {
  const provider = named(name)
  const submitted = async () => {
    answer = json(shape.accepted(origin), 201)
    const outcome = await provider.submit(job)
    expect(outcome).toMatchObject({ kind: 'accepted', providerJobId: 'job-1' })
    seen.length = 0
    return reference(outcome)
  }

  test('gets the job in its own words, and the key in its own header only', async () => {
    answer = json(shape.accepted(origin))
    expect(await provider.submit(job)).toMatchObject({ kind: 'accepted', providerJobId: 'job-1' })
    const [sent] = seen
    expect(sent).toMatchObject({ method: 'POST', url: shape.submission.url })
    expect(JSON.parse(sent?.body ?? '')).toEqual(shape.submission.body)
    expect(sent?.headers.authorization).toBe(shape.submission.authorization)
    expect(`${sent?.url}${sent?.body}`).not.toContain('planted')
  })

  test('is followed from the queue to its files', async () => {
    const at = await submitted()
    answer = json(shape.queuing)
    expect(await provider.poll(at)).toMatchObject({ kind: 'running', state: 'queuing' })
    answer = json(shape.generating)
    expect(await provider.poll(at)).toMatchObject({ kind: 'running', state: 'generating' })
    answer = (request, response, body) =>
      json(request.url === shape.result?.[0] ? shape.result?.[1] : shape.done)(request, response, body)
    expect(await provider.poll(at)).toEqual({
      kind: 'succeeded',
      files: [{ kind: 'url', url: FILE }],
      units: undefined,
    })
    expect(seen[0]?.url).toBe(shape.pollUrl)
  })

  test('says why a job failed', async () => {
    const at = await submitted()
    answer = shape.failed
      ? json(shape.failed)
      : (request, response, body) =>
          json(shape.done, request.url === shape.result?.[0] ? 422 : 200)(request, response, body)
    const state = await provider.poll(at)
    expect(state).toMatchObject({ kind: 'failed', billed: name === 'kie' ? false : undefined })
    if (shape.failed) expect(state).toMatchObject({ message: 'no good' })
  })

  test('that finishes without a file has failed, and nobody knows at which price', async () => {
    const at = await submitted()
    answer = (request, response, body) => {
      const empty =
        name === 'kie' ? { data: { state: 'success', resultJson: '{}' } } : { status: 'succeeded', output: null }
      json(name === 'fal' ? (request.url === shape.result?.[0] ? {} : shape.done) : empty)(request, response, body)
    }
    expect(await provider.poll(at)).toMatchObject({ kind: 'failed', code: 'no_result', billed: undefined })
  })

  test.each([
    [
      '429',
      json({}, 429, { 'retry-after': '7' }),
      { kind: 'refused', status: 429, retryable: true, retryAfterMs: 7000 },
    ],
    ['500', json({}, 500), { kind: 'refused', status: 500, retryable: true }],
    ['400', json({}, 400), { kind: 'refused', status: 400, retryable: false }],
    ['a gateway timeout', json({}, 504), { kind: 'lost' }],
    ['a bad gateway', htmlOf(502), { kind: 'lost' }],
    ['HTML instead of JSON', html, { kind: 'lost' }],
    ['no id', json({ status: 'ok', code: 200 }), { kind: 'lost' }],
    ['a cut connection', cut, { kind: 'lost' }],
    ['nothing in time', hang, { kind: 'lost' }],
    ['a huge body', huge, { kind: 'lost' }],
  ])('answers a submission with %s', async (_what, how, outcome) => {
    answer = how
    expect(await provider.submit(job)).toMatchObject(outcome)
    expect(seen).toHaveLength(1)
  })

  test('refuses in its own words', async () => {
    answer = json(shape.refusal, name === 'kie' ? 200 : 422)
    expect(await provider.submit(job)).toMatchObject({
      kind: 'refused',
      status: 422,
      retryable: false,
      message: 'no good',
    })
  })

  test.each([
    ['500', json({}, 500), 'unreachable'],
    ['429', json({}, 429), 'unreachable'],
    ['401', json({}, 401), 'unreachable'],
    ['HTML instead of JSON', html, 'unreachable'],
    ['a state that is not known', json({ status: 'odd', data: { state: 'odd' } }), 'unreachable'],
    ['a cut connection', cut, 'unreachable'],
    ['nothing in time', hang, 'unreachable'],
    ['a huge body', huge, 'unreachable'],
    ['404', json({}, 404), 'missing'],
  ])('answers a question with %s', async (_what, how, kind) => {
    const at = await submitted()
    answer = how
    expect(await provider.poll(at)).toMatchObject({ kind })
  })

  test('is asked to cancel where it can be', async () => {
    const at = await submitted()
    answer = json({})
    await provider.cancel?.(at)
    expect(seen.map(({ method, url }) => `${method} ${url}`)).toEqual(shape.cancelUrl ? [shape.cancelUrl] : [])
  })

  test('never gets a key into a message, even when it repeats it itself', async () => {
    const key = shape.submission.authorization?.split(' ')[1] ?? ''
    const said = []
    for (const status of [200, 400, 500, 502]) {
      answer = json({ ...Object(shape.refusal), detail: `key ${key} is bad`, msg: `key ${key} is bad` }, status)
      said.push(await provider.submit(job))
    }
    expect(JSON.stringify(said)).toContain('is bad')
    expect(JSON.stringify(said)).not.toContain(key)
  })
})

test('an address that a service names is asked only at its own origin', async () => {
  answer = json({ id: 'job-1', urls: { get: 'http://evil.example/steal', cancel: 'not a url' } })
  const at = reference(await named('replicate').submit(job))
  answer = json({ status: 'processing' })
  expect(await named('replicate').poll(at)).toMatchObject({ kind: 'running' })
  expect(seen.at(-1)?.url).toBe('/predictions/job-1')
})

describe('a lost submission', () => {
  test('is found by its attempt where the service can look, and surely missing when it is not there', async () => {
    const studio = named('studio')
    answer = cut
    expect(await studio.submit(job)).toMatchObject({ kind: 'lost' })
    expect(seen[0]?.headers['idempotency-key']).toBe('attempt-1')
    const attempt = { attemptId: 'attempt-1', model: 'm' }
    answer = json({ jobs: [{ id: 'job-9' }] })
    expect(await studio.find?.(attempt)).toMatchObject({ kind: 'accepted', providerJobId: 'job-9' })
    expect(seen.at(-1)?.url).toBe('/jobs?reference=attempt-1')
    answer = json({ jobs: [] })
    expect(await studio.find?.(attempt)).toEqual({ kind: 'missing' })
    answer = html
    expect(await studio.find?.(attempt)).toMatchObject({ kind: 'unreachable' })
  })

  test('is not looked for where the service cannot', () => {
    expect(Object.keys(shapes).map((name) => named(name).find)).toEqual([undefined, undefined, undefined])
  })
})

test('progress, units and files in lists of objects are read where they are described', async () => {
  const at = { providerJobId: 'job-1', model: 'm', memo: undefined }
  answer = json({ state: 'working', progress: 0.25 })
  expect(await named('studio').poll(at)).toMatchObject({ kind: 'running', progress: 0.25 })
  answer = json({ state: 'done', files: [{ address: FILE }, { address: `${FILE}2` }], seconds: 5 })
  const files = [FILE, `${FILE}2`].map((url) => ({ kind: 'url', url }))
  expect(await named('studio').poll(at)).toEqual({ kind: 'succeeded', files, units: 5 })
})

describe('a callback', () => {
  const secret = exampleKeys.REPLICATE_WEBHOOK_SECRET
  const signed = (body: string, more: Record<string, string> = {}, key = secret) => {
    const headers = { 'webhook-id': 'msg_1', 'webhook-timestamp': String(Math.floor(nowMs / 1000)), ...more }
    const content = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`
    const digest = createHmac('sha256', key).update(content).digest('base64')
    return { headers: { 'webhook-signature': `v1,bm8= v1,${digest}`, ...headers }, body: Buffer.from(body) }
  }
  const read = (callback: ReturnType<typeof signed>) => named('replicate').readCallback?.(callback)

  test('that is signed brings the end of its job', () => {
    expect(read(signed(JSON.stringify(shapes.replicate?.done)))).toEqual({
      providerJobId: 'job-1',
      state: { kind: 'succeeded', files: [{ kind: 'url', url: FILE }], units: undefined },
    })
    const failed = read(signed(JSON.stringify(shapes.replicate?.failed)))
    expect(failed?.state).toMatchObject({ kind: 'failed', message: 'no good' })
  })

  test('that is not, is too old, or names no job, is nothing', () => {
    const body = JSON.stringify(shapes.replicate?.done)
    const genuine = signed(body)
    expect(read(signed(body, {}, 'another secret'))).toBeUndefined()
    expect(read({ ...genuine, body: Buffer.from(body.replace('1.png', '2.png')) })).toBeUndefined()
    expect(read({ ...genuine, headers: { ...genuine.headers, 'webhook-signature': '' } })).toBeUndefined()
    expect(read(signed(body, { 'webhook-timestamp': String(Math.floor(nowMs / 1000) - 301) }))).toBeUndefined()
    expect(read(signed('{"status":"succeeded"}'))).toBeUndefined()
    expect(read(signed('no json'))).toBeUndefined()
    nowMs += 3_600_000
    expect(read(genuine)).toBeUndefined()
  })

  test('of a service that signs none is believed in nothing: its job is asked for at once', () => {
    const askNow = { kind: 'running', nextPollMs: 0 }
    const kie = { headers: {}, body: Buffer.from(JSON.stringify(shapes.kie?.done)) }
    expect(named('kie').readCallback?.(kie)).toMatchObject({ providerJobId: 'job-1', state: askNow })
    const fal = { headers: {}, body: Buffer.from('{"request_id":"job-1","status":"OK","payload":{}}') }
    expect(named('fal').readCallback?.(fal)).toMatchObject({ providerJobId: 'job-1', state: askNow })
  })
})

function htmlOf(status: number): Answer {
  return (_request, response) =>
    void response.writeHead(status, { 'content-type': 'text/html' }).end('<h1>Bad gateway</h1>')
}
