import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, expect, test } from 'vitest'
import type { MediaJob } from '../../media.ts'
import { createOpenAiImages } from './index.ts'

const PIXEL = Buffer.from('iVBORw0KGgo=', 'base64')
let seen: { url: string | undefined; headers: IncomingHttpHeaders; body: Buffer } | undefined
let answer: (response: ServerResponse) => void = () => {}
const server = createServer(async (request, response) => {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece)
  seen = { url: request.url, headers: request.headers, body: Buffer.concat(pieces) }
  answer(response)
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
const provider = createOpenAiImages({
  name: 'openai',
  baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/`,
  apiKey: 'sk-test-0123456789abcdef',
  connections: 2,
  connectTimeoutMs: 10_000,
  headersTimeoutMs: 10_000,
  idleTimeoutMs: 10_000,
  maxResponseBytes: 100_000,
})
afterAll(async () => {
  await provider.close()
  server.closeAllConnections()
  server.close()
})

const json =
  (body: unknown, status = 200) =>
  (response: ServerResponse) =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))

const submit = (more: Partial<MediaJob> = {}) =>
  provider.submit({
    type: 'image',
    model: 'gpt-image-1',
    input: { prompt: 'a fox', n: 2, size: '1024x1024', quality: 'high', user: 'u1' },
    images: [],
    attemptId: 'attempt-1',
    callbackUrl: undefined,
    ...more,
  })

test('a generation is sent as JSON, unknown fields included, and its bytes and URLs come back', async () => {
  answer = json({ created: 1, data: [{ b64_json: PIXEL.toString('base64') }, { url: 'https://files.example/2.png' }] })
  expect(await submit()).toEqual({
    kind: 'succeeded',
    files: [
      { kind: 'bytes', bytes: PIXEL },
      { kind: 'url', url: 'https://files.example/2.png' },
    ],
    units: 2,
  })
  expect(seen).toMatchObject({
    url: '/v1/images/generations',
    headers: { authorization: 'Bearer sk-test-0123456789abcdef', 'idempotency-key': 'attempt-1' },
  })
  expect(JSON.parse(seen?.body.toString() ?? '')).toEqual({
    model: 'gpt-image-1',
    prompt: 'a fox',
    n: 2,
    size: '1024x1024',
    quality: 'high',
    user: 'u1',
  })
})

test('with pictures to start from it is an edit, sent as a form that any reader of forms understands', async () => {
  answer = json({ data: [{ b64_json: PIXEL.toString('base64') }] })
  const image = (bytes: Buffer, contentType: string) => ({ url: 'x', read: async () => ({ bytes, contentType }) })
  const images = [image(PIXEL, 'image/png'), image(Buffer.from('\r\n--farebox'), 'image/jpeg')]
  const input = { prompt: 'naïve "fox"', n: 1, extra: { deep: [1] }, nothing: null }
  expect(await submit({ images, input })).toMatchObject({ kind: 'succeeded', units: 1 })
  expect(seen?.url).toBe('/v1/images/edits')
  const headers = { 'content-type': String(seen?.headers['content-type']) }
  const form = await new Response(new Uint8Array(seen?.body ?? []), { headers }).formData()
  expect(form.get('prompt')).toBe('naïve "fox"')
  expect(form.get('model')).toBe('gpt-image-1')
  expect(form.get('extra')).toBe('{"deep":[1]}')
  expect(form.has('nothing')).toBe(false)
  const files = form.getAll('image[]') as File[]
  expect(files.map(({ name, type }) => [name, type])).toEqual([
    ['image-1.png', 'image/png'],
    ['image-2.jpeg', 'image/jpeg'],
  ])
  expect(Buffer.from((await files[1]?.arrayBuffer()) ?? new ArrayBuffer())).toEqual(Buffer.from('\r\n--farebox'))
  await submit({ images: images.slice(0, 1), input })
  expect(seen?.body.toString('latin1')).toContain('name="image";')
})

test('a picture that cannot be read is refused before anything is sent', async () => {
  seen = undefined
  const outcome = await submit({ images: [{ url: 'x', read: async () => undefined }] })
  expect(outcome).toMatchObject({ kind: 'refused', retryable: false })
  expect(seen).toBeUndefined()
  expect(await submit({ type: 'video' })).toMatchObject({ kind: 'refused', retryable: false })
})

test('an answer without a picture costs nobody knows what; one that cannot be read is lost', async () => {
  answer = json({ data: [] })
  expect(await submit()).toMatchObject({ kind: 'failed', code: 'no_result', billed: undefined })
  answer = (response) => void response.end('<html>')
  expect(await submit()).toMatchObject({ kind: 'lost' })
  answer = json({ data: [{ b64_json: 'x'.repeat(200_000) }] })
  expect(await submit()).toMatchObject({ kind: 'lost' })
  answer = json({}, 504)
  expect(await submit()).toMatchObject({ kind: 'lost' })
})

test('an error inside a 200 is a refusal', async () => {
  answer = json({ error: { message: 'no sk-test-0123456789abcdef', code: 400 } })
  expect(await submit()).toMatchObject({ kind: 'refused', status: 400, message: 'no [removed]' })
})
