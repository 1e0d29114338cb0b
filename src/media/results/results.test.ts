import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { fakeS3 } from '../../../test/s3.ts'
import { createServer as createApi } from '../../http/server.ts'
import type { Clock } from '../../kernel/clock.ts'
import { systemRandom } from '../../kernel/random.ts'
import { createGuardedFetch } from '../../net/guarded-fetch.ts'
import { openLocalStore } from '../../storage/local.ts'
import type { ObjectStore } from '../../storage/object-store.ts'
import { openS3Store } from '../../storage/s3.ts'
import { type KeptFile, ResultRefused } from '../results-port.ts'
import { resultLinks } from './links.ts'
import { rangeOf } from './range.ts'
import { resultRoutes } from './routes.ts'
import { createResults } from './service.ts'

const PNG = Buffer.concat([
  Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 'latin1'),
  Buffer.from([0, 0, 2, 128, 0, 0, 1, 224]),
  Buffer.alloc(1000, 7),
])
const MP4 = Buffer.concat([Buffer.from('\0\0\0\x10ftypisom\0\0\0\0', 'latin1'), Buffer.alloc(5000, 3)])
const DAY_MS = 86_400_000

const closing: (() => unknown)[] = []
afterAll(async () => {
  for (const close of closing.reverse()) await close()
})

const START_MS = Date.UTC(2026, 10, 20, 12)
let nowMs = START_MS
const clock: Clock = { now: () => new Date(nowMs), monotonicMs: () => nowMs }
let answer: (response: ServerResponse) => void = () => {}
const files = createServer((_request, response) => answer(response))
files.listen(0, '127.0.0.1')
await once(files, 'listening')
closing.push(() => {
  files.closeAllConnections()
  files.close()
})
const at = `http://127.0.0.1:${(files.address() as AddressInfo).port}`
const sends =
  (bytes: Buffer, type = 'text/html') =>
  (response: ServerResponse) =>
    void response.writeHead(200, { 'content-type': type }).end(bytes)

const folder = mkdtempSync(join(tmpdir(), 'farebox-results-'))
closing.push(() => rmSync(folder, { recursive: true }))
const s3 = await fakeS3(() => nowMs)
closing.push(s3.close)
const stores: Readonly<Record<string, ObjectStore>> = {
  local: openLocalStore(join(folder, 'kept')),
  s3: openS3Store({
    endpoint: s3.url,
    region: 'us-east-1',
    bucket: 'pictures',
    prefix: '',
    addressStyle: 'path',
    accessKey: s3.accessKey,
    timeoutMs: 10_000,
    clock,
  }),
}

describe.each(Object.keys(stores))('results in a %s store', (kind) => {
  const store = stores[kind] as ObjectStore
  const spoolFolder = join(folder, `incoming-${kind}`)
  const guarded = (allowedNetworks: string[]) => {
    const made = createGuardedFetch({ allowedNetworks, connectionsPerOrigin: 4, connectTimeoutMs: 10_000 })
    closing.push(() => made.close())
    return made
  }
  const links = resultLinks({ pepper: Buffer.alloc(32, 1), publicUrl: () => '', now: clock.now })
  const deps = {
    store,
    links,
    guardedFetch: guarded(['127.0.0.0/8']),
    spoolFolder,
    clock,
    random: systemRandom,
    keepDays: 7,
    bytesMax: { image: 10_000, video: 20_000 },
    fetchTimeoutMs: 10_000,
  }
  const results = createResults(deps)
  const keep = (file: Parameters<typeof results.keep>[1][number], type: 'image' | 'video' = 'image', by = results) =>
    by.keep({ taskId: 't1', type }, [file], new AbortController().signal)
  const keepOne = async (...keeping: Parameters<typeof keep>) => (await keep(...keeping))[0] as KeptFile
  const api = createApi({
    routes: resultRoutes({ store, links }),
    authenticator: { authenticate: () => Promise.reject(), recognise: () => Promise.reject() } as never,
    random: systemRandom,
    bodyLimit: 1000,
    trustedProxies: [],
    onAnswered: () => {},
    onFault: () => {},
  })
  closing.push(() => api.close())
  const week = () => new Date(nowMs + 7 * DAY_MS)
  const get = async (url: string, headers: Record<string, string> = {}) => api.inject({ url, headers })

  beforeEach(() => {
    nowMs = START_MS
    answer = sends(PNG)
    s3.broken = undefined
  })

  test('are known by their bytes, whatever their address says, and nothing is left in the spool', async () => {
    const kept = await keepOne({ kind: 'url', url: `${at}/page.html` })
    expect(kept).toMatchObject({ contentType: 'image/png', width: 640, height: 480, bytes: PNG.length })
    expect(kept.key).toMatch(/^2026-11-28\/[0-9a-f]{40}\.png$/)
    expect(await results.read(kept)).toEqual(PNG)
    expect(await keepOne({ kind: 'bytes', bytes: MP4 }, 'video')).toMatchObject({ contentType: 'video/mp4' })
    const data = `data:image/png;base64,${PNG.toString('base64')}`
    expect(await keepOne({ kind: 'url', url: data })).toMatchObject({ bytes: PNG.length })
    expect(readdirSync(spoolFolder)).toEqual([])
  })

  test('of the same task have the same name, of another task another', async () => {
    const one = await keepOne({ kind: 'bytes', bytes: PNG })
    expect(await keepOne({ kind: 'bytes', bytes: PNG })).toEqual(one)
    const [other] = await results.keep(
      { taskId: 't2', type: 'image' },
      [{ kind: 'bytes', bytes: PNG }],
      AbortSignal.abort(),
    )
    expect(other?.key).not.toBe(one.key)
  })

  test('that are none are refused for good: no picture, the wrong kind, too large', async () => {
    for (const bytes of [Buffer.from('<html><script>'), Buffer.alloc(0), MP4]) {
      await expect(keep({ kind: 'bytes', bytes })).rejects.toBeInstanceOf(ResultRefused)
    }
    const large = Buffer.concat([PNG, Buffer.alloc(10_000)])
    answer = sends(large)
    await expect(keep({ kind: 'bytes', bytes: large })).rejects.toThrow(/larger than 10000 bytes/)
    await expect(keep({ kind: 'url', url: at })).rejects.toThrow(/larger than 10000 bytes/)
    const data = `data:image/png;base64,${large.toString('base64')}`
    await expect(keep({ kind: 'url', url: data })).rejects.toThrow(/larger/)
    expect(readdirSync(spoolFolder)).toEqual([])
  })

  test('at a private address are refused, also behind a redirect', async () => {
    const strict = createResults({ ...deps, guardedFetch: guarded([]) })
    await expect(keep({ kind: 'url', url: at }, 'image', strict)).rejects.toBeInstanceOf(ResultRefused)
    answer = (response) => void response.writeHead(302, { location: 'http://169.254.169.254/latest' }).end()
    await expect(keep({ kind: 'url', url: at })).rejects.toThrow(/169\.254\.169\.254 is not on the public internet/)
  })

  test('that cannot be fetched or kept now can be tried again', async () => {
    const failure = async (url: string) => keep({ kind: 'url', url }).catch((error: unknown) => error)
    answer = (response) => void response.writeHead(503).end()
    expect(await failure(at)).toMatchObject({ name: 'Error', message: expect.stringContaining('503') })
    answer = (response) => void response.destroy()
    expect(await failure(at)).toMatchObject({ name: 'Error' })
    expect(await failure('http://127.0.0.1:1/secret?token=x')).toMatchObject({ name: 'Error' })
    expect(String(await failure('http://127.0.0.1:1/secret?token=x'))).not.toMatch(/secret|token/)
    expect(readdirSync(spoolFolder)).toEqual([])
  })

  test('are served to whoever has the link, as what they are, and can do nothing in a browser', async () => {
    const url = links.urlOf((await keepOne({ kind: 'bytes', bytes: PNG })).key, week())
    const served = await get(url)
    expect(served).toMatchObject({ statusCode: 200, rawPayload: PNG })
    expect(served.headers).toMatchObject({
      'content-type': 'image/png',
      'content-length': String(PNG.length),
      'x-content-type-options': 'nosniff',
      'content-disposition': expect.stringMatching(/^inline; filename="[0-9a-f]{40}\.png"$/),
      'content-security-policy': expect.stringMatching(/default-src 'none'.*sandbox/),
      'accept-ranges': 'bytes',
    })
    expect((await get(`${url}&download=1`)).headers['content-disposition']).toMatch(/^attachment;/)
    const again = await get(url, { 'if-none-match': String(served.headers.etag) })
    expect([again.statusCode, again.payload]).toEqual([304, ''])
  })

  test('of films are served in ranges', async () => {
    const url = links.urlOf((await keepOne({ kind: 'bytes', bytes: MP4 }, 'video')).key, week())
    const part = await get(url, { range: 'bytes=4-11' })
    expect([part.statusCode, part.payload, part.headers['content-range']]).toEqual([
      206,
      'ftypisom',
      `bytes 4-11/${MP4.length}`,
    ])
    expect((await get(url, { range: 'bytes=-16' })).rawPayload).toEqual(MP4.subarray(-16))
    expect((await get(url, { range: `bytes=${MP4.length - 1}-` })).rawPayload.length).toBe(1)
    const beyond = await get(url, { range: `bytes=${MP4.length}-` })
    expect([beyond.statusCode, beyond.headers['content-range']]).toEqual([416, `bytes */${MP4.length}`])
    expect(beyond.json()).toMatchObject({ code: 'range_not_satisfiable' })
  })

  test('are not served by a link that was changed, has expired, or whose file is gone', async () => {
    const { key } = await keepOne({ kind: 'bytes', bytes: PNG })
    const url = links.urlOf(key, week())
    const codeOf = async (changed: string) => [(await get(changed)).statusCode, (await get(changed)).json().code]
    for (const changed of [
      url.replace(/signature=./, 'signature=z'),
      url.replace(/expires=\d/, 'expires=9'),
      url.replace('.png', '.mp4'),
      url.replace(/signature=.*/, 'signature='),
    ])
      expect(await codeOf(changed)).toEqual([403, 'invalid_result_link'])
    const foreign = resultLinks({ pepper: Buffer.alloc(32, 2), publicUrl: () => '', now: clock.now })
    expect(await codeOf(foreign.urlOf(key, week()))).toEqual([403, 'invalid_result_link'])
    expect(await codeOf(links.urlOf('2026-11-28/none.png', week()))).toEqual([404, 'result_not_found'])
    expect(await codeOf(links.urlOf(key, new Date(nowMs)))).toEqual([410, 'result_expired'])
    expect(await codeOf(links.urlOf('../../etc/passwd', week()))).toEqual([404, 'not_found'])
  })

  test('are deleted in time, and not before the last link to them has expired', async () => {
    const kept = await keepOne({ kind: 'bytes', bytes: PNG })
    nowMs += 8 * DAY_MS
    await results.deleteExpired()
    expect(await results.read(kept)).toBeDefined()
    nowMs += DAY_MS
    expect(await results.deleteExpired()).toBeGreaterThan(0)
    expect(await results.read(kept)).toBeUndefined()
    expect(await results.deleteExpired()).toBe(0)
  })

  test('a client names can be read as pictures, and as nothing else', async () => {
    expect(await results.pictureAt(`${at}/x`).read()).toEqual({ bytes: PNG, contentType: 'image/png' })
    const data = `data:image/png;base64,${PNG.toString('base64')}`
    expect(await results.pictureAt(data).read()).toEqual({ bytes: PNG, contentType: 'image/png' })
    answer = sends(Buffer.from('<html>'), 'image/png')
    expect(await results.pictureAt(at).read()).toBeUndefined()
    answer = (response) => void response.writeHead(404).end()
    expect(await results.pictureAt(at).read()).toBeUndefined()
    expect(await results.pictureAt('file:///etc/passwd').read()).toBeUndefined()
    expect(await results.pictureAt(`data:image/png;base64,${'A'.repeat(40_000)}`).read()).toBeUndefined()
  })

  if (kind !== 's3') return
  test('answer 503 while the service is away', async () => {
    const { key } = await keepOne({ kind: 'bytes', bytes: PNG })
    s3.broken = 500
    const away = await get(links.urlOf(key, week()))
    expect([away.statusCode, away.json().code]).toEqual([503, 'unavailable'])
    await expect(keep({ kind: 'bytes', bytes: PNG })).rejects.toMatchObject({ name: 'StoreUnavailable' })
  })
})

test.each([
  [undefined, 'whole'],
  ['bytes=0-9', { first: 0, last: 9 }],
  ['bytes=5-', { first: 5, last: 99 }],
  ['bytes=90-200', { first: 90, last: 99 }],
  ['bytes=-1', { first: 99, last: 99 }],
  ['bytes=-500', { first: 0, last: 99 }],
  ['bytes=100-', 'unsatisfiable'],
  ['bytes=-0', 'unsatisfiable'],
  ['bytes=9-0', 'whole'],
  ['bytes=0-1,5-6', 'whole'],
  ['bytes=-', 'whole'],
  ['items=0-1', 'whole'],
  ['bytes=x', 'whole'],
])('the range %s of 100 bytes is %j', (header, range) => {
  expect(rangeOf(header, 100)).toEqual(range)
})
