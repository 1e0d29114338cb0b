import { createReadStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { AwsV4Signer } from 'aws4fetch'
import { Agent, type Dispatcher } from 'undici'
import type { Clock } from '../kernel/clock.ts'
import { isDay, keyOf, type ObjectName, type ObjectStore, StoreUnavailable } from './object-store.ts'

/** How an S3-compatible service is reached. */
export interface S3Options {
  /** Without the bucket and without a trailing slash. */
  readonly endpoint: string
  readonly region: string
  readonly bucket: string
  /** What all keys begin with: empty, or ends with a slash. */
  readonly prefix: string
  /** Whether the bucket is the first part of the path, or of the host name. */
  readonly addressStyle: 'path' | 'host'
  readonly accessKey: { readonly id: string; readonly secret: string }
  /** For one request; of a body only for its silences. */
  readonly timeoutMs: number
  readonly clock: Clock
}

const CONNECTIONS = 32
const DELETES_AT_ONCE = 16
const LIST_BYTES_MAX = 4 * 1024 * 1024
const EMPTY_SHA256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'

/** Keeps objects in a bucket. Requests are signed with AWS Signature Version 4, their bodies included; none is retried. */
export function openS3Store(options: S3Options): ObjectStore {
  const { bucket, prefix, timeoutMs } = options
  const base = new URL(options.endpoint)
  if (options.addressStyle === 'host') base.hostname = `${bucket}.${base.hostname}`
  else base.pathname = `${base.pathname.replace(/\/+$/, '')}/${bucket}`
  const agent = new Agent({
    connections: CONNECTIONS,
    connect: { timeout: timeoutMs },
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
  })
  const send = (request: S3Request): Promise<Dispatcher.ResponseData> => exchange(agent, base, options, request)
  const pathOf = (name: ObjectName): string => `/${prefix}${keyOf(name)}`

  return {
    async put(name, file) {
      const answer = await send({
        method: 'PUT',
        path: pathOf(name),
        headers: { 'content-type': file.contentType, 'content-length': String(file.bytes) },
        sha256: file.sha256,
        body: createReadStream(file.path),
      })
      await expectStatus(answer, [200, 201, 204])
      await rm(file.path, { force: true })
    },
    async size(name) {
      const answer = await send({ method: 'HEAD', path: pathOf(name) })
      if (!(await expectStatus(answer, [200, 404]))) return undefined
      return Number(answer.headers['content-length'])
    },
    async read(name, range) {
      const headers = range ? { range: `bytes=${range.first}-${range.last}` } : {}
      const answer = await send({ method: 'GET', path: pathOf(name), headers })
      const { statusCode, headers: said, body } = answer
      if (statusCode !== 200 && statusCode !== 206) {
        await expectStatus(answer, [404])
        return undefined
      }
      if (range && statusCode === 200) {
        body.on('error', () => undefined).destroy()
        throw new StoreUnavailable('The S3 service does not give parts of objects.')
      }
      const whole = /\/(\d+)$/.exec(String(said['content-range'] ?? ''))?.[1] ?? said['content-length']
      return { bytes: Number(whole), stream: body }
    },
    async deleteBefore(day, limit) {
      let deleted = 0
      for (const old of (await days(send, prefix)).filter((name) => name < day).sort()) {
        const keys = await list(send, {
          prefix: `${prefix}${old}/`,
          'max-keys': String(Math.min(1000, limit - deleted)),
        })
        const names = keys.all('Key')
        for (let at = 0; at < names.length; at += DELETES_AT_ONCE) {
          await Promise.all(
            names.slice(at, at + DELETES_AT_ONCE).map(async (key) => {
              await expectStatus(await send({ method: 'DELETE', path: `/${key}` }), [200, 204, 404])
            }),
          )
        }
        deleted += names.length
        if (deleted >= limit) return deleted
      }
      return deleted
    },
    close: () => agent.destroy(),
  }
}

interface S3Request {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'DELETE'
  /** Of the object, with a leading slash; keys here need no escapes. */
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  /** Of the body; absent: there is none. */
  readonly sha256?: string
  readonly body?: NodeJS.ReadableStream
}

type Send = (request: S3Request) => Promise<Dispatcher.ResponseData>

async function exchange(
  agent: Agent,
  base: URL,
  { accessKey, region, clock }: S3Options,
  { method, path, query = {}, headers = {}, sha256 = EMPTY_SHA256, body }: S3Request,
): Promise<Dispatcher.ResponseData> {
  const url = new URL(base)
  url.pathname = `${base.pathname.replace(/\/+$/, '')}${path}`
  url.search = new URLSearchParams(query).toString()
  const signed = await new AwsV4Signer({
    method,
    url: url.href,
    headers: { ...headers, 'x-amz-content-sha256': sha256 },
    accessKeyId: accessKey.id,
    secretAccessKey: accessKey.secret,
    service: 's3',
    region,
    datetime: clock
      .now()
      .toISOString()
      .replace(/[:-]|\.\d{3}/g, ''),
  }).sign()
  try {
    return await agent.request({
      origin: url.origin,
      path: signed.url.pathname + signed.url.search,
      method,
      headers: Object.fromEntries(signed.headers),
      body: (body as Dispatcher.DispatchOptions['body']) ?? null,
    })
  } catch (error) {
    throw new StoreUnavailable(`The S3 service cannot be reached (${codeOf(error)}).`)
  }
}

/** Reads an answer to its end. True when it is a success, false for a 404 among the statuses; throws for any other. */
async function expectStatus(
  { statusCode, body }: Dispatcher.ResponseData,
  statuses: readonly number[],
): Promise<boolean> {
  const text = await textOf(body)
  if (statuses.includes(statusCode)) return statusCode < 300
  const code = /<Code>([A-Za-z0-9]{1,64})<\/Code>/.exec(text)?.[1]
  throw new StoreUnavailable(`The S3 service answered ${statusCode}${code ? ` ${code}` : ''}.`)
}

async function textOf(body: Dispatcher.ResponseData['body']): Promise<string> {
  const pieces: Buffer[] = []
  let bytes = 0
  try {
    for await (const piece of body as AsyncIterable<Buffer>) {
      bytes += piece.length
      if (bytes > LIST_BYTES_MAX) throw new StoreUnavailable('The S3 service answered with more than a list can be.')
      pieces.push(piece)
    }
  } catch (error) {
    if (error instanceof StoreUnavailable) throw error
    throw new StoreUnavailable(`The S3 service broke its answer off (${codeOf(error)}).`)
  }
  return Buffer.concat(pieces).toString()
}

/** The days that there are objects of. */
async function days(send: Send, prefix: string): Promise<string[]> {
  const found: string[] = []
  let continuation: Readonly<Record<string, string>> | undefined = {}
  while (continuation) {
    const page: Listed = await list(send, { prefix, delimiter: '/', ...continuation })
    found.push(...page.all('Prefix').map((folder) => folder.slice(prefix.length).replace(/\/$/, '')))
    continuation = page.continuation
  }
  return [...new Set(found.filter(isDay))]
}

interface Listed {
  all(tag: 'Key' | 'Prefix'): string[]
  readonly continuation: { readonly 'continuation-token': string } | undefined
}

async function list(send: Send, query: Readonly<Record<string, string>>): Promise<Listed> {
  const answer = await send({ method: 'GET', path: '', query: { 'list-type': '2', ...query } })
  const text = await textOf(answer.body)
  if (answer.statusCode !== 200) throw new StoreUnavailable(`The S3 service answered ${answer.statusCode} to a list.`)
  const all = (tag: string): string[] =>
    [...text.matchAll(new RegExp(`<${tag}>([^<]*)</${tag}>`, 'g'))].map((match) => unescaped(match[1] ?? ''))
  const [token] = all('NextContinuationToken')
  return { all, continuation: token === undefined ? undefined : { 'continuation-token': token } }
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

const unescaped = (text: string): string =>
  text.replace(/&(amp|lt|gt|quot|apos);/g, (_, name: string) => ENTITIES[name] ?? '')

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : error instanceof Error ? error.name : 'unknown error'
