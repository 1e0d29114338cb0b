import { createHash, createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A bucket in memory that is as strict about signatures as the real services. */
export interface FakeS3 {
  readonly url: string
  readonly accessKey: { readonly id: string; readonly secret: string }
  readonly objects: Map<string, { readonly bytes: Buffer; readonly contentType: string | undefined }>
  /** Method and path of every request. */
  readonly requests: string[]
  /** Answers every request with this status instead; 0 closes the connection. */
  broken: number | undefined
  close(): void
}

const PAGE = 3
/** How far the time of a request may be off, as at the real services. */
const SKEW_MS_MAX = 15 * 60_000

/** Starts one with a bucket `pictures` in region `us-east-1`, whose clock is `nowMs`. Lists have pages of three. */
export async function fakeS3(nowMs: () => number = Date.now): Promise<FakeS3> {
  const accessKey = { id: 'TESTKEY0123456789', secret: 'test-secret-0123456789/abcdef' }
  const objects: FakeS3['objects'] = new Map()
  const server = createServer(async (request, response) => {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece)
    const body = Buffer.concat(pieces)
    const url = new URL(request.url ?? '', fake.url)
    fake.requests.push(`${request.method} ${url.pathname}`)
    if (fake.broken === 0) return void response.destroy()
    const refuse = (status: number, code: string) =>
      response.writeHead(status, { 'content-type': 'application/xml' }).end(`<Error><Code>${code}</Code></Error>`)
    if (fake.broken) return void refuse(fake.broken, 'InternalError')
    const wrong = signatureProblem(request, { url, body, accessKey, nowMs: nowMs() })
    if (wrong) return void refuse(403, wrong)
    const [, bucket, ...rest] = url.pathname.split('/')
    if (bucket !== 'pictures') return void refuse(404, 'NoSuchBucket')
    const key = rest.join('/')
    if (request.method === 'PUT') {
      objects.set(key, { bytes: body, contentType: request.headers['content-type'] })
      return void response.writeHead(200).end()
    }
    if (request.method === 'DELETE') return void response.writeHead(objects.delete(key) ? 204 : 204).end()
    if (key === '') return void response.writeHead(200).end(listOf(objects, url.searchParams))
    const object = objects.get(key)
    if (!object) return void refuse(404, 'NoSuchKey')
    const range = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '')
    if (!range) return void response.writeHead(200, { 'content-length': object.bytes.length }).end(object.bytes)
    const part = object.bytes.subarray(Number(range[1]), Number(range[2]) + 1)
    const contentRange = `bytes ${range[1]}-${range[2]}/${object.bytes.length}`
    response.writeHead(206, { 'content-length': part.length, 'content-range': contentRange }).end(part)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const fake: FakeS3 = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    accessKey,
    objects,
    requests: [],
    broken: undefined,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
  return fake
}

/** What is wrong with a request's AWS Signature Version 4, computed from its own description; undefined: nothing. */
function signatureProblem(
  request: IncomingMessage,
  { url, body, accessKey, nowMs }: { url: URL; body: Buffer; accessKey: FakeS3['accessKey']; nowMs: number },
): string | undefined {
  const pattern =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/us-east-1\/s3\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/
  const [, id, day = '', signedHeaders = '', signature] = pattern.exec(request.headers.authorization ?? '') ?? []
  if (id !== accessKey.id) return 'InvalidAccessKeyId'
  const time = String(request.headers['x-amz-date'] ?? '')
  const bodyHash = String(request.headers['x-amz-content-sha256'] ?? '')
  if (bodyHash !== sha256(body)) return 'XAmzContentSHA256Mismatch'
  if (!time.startsWith(day) || !signedHeaders.split(';').includes('host')) return 'AuthorizationHeaderMalformed'
  const at = Date.parse(time.replace(/^(....)(..)(..)T(..)(..)(..)Z$/, '$1-$2-$3T$4:$5:$6Z'))
  if (!(Math.abs(nowMs - at) <= SKEW_MS_MAX)) return 'RequestTimeTooSkewed'
  const headers = Object.fromEntries(signedHeaders.split(';').map((name) => [name, String(request.headers[name])]))
  const expected = signatureOf({ method: request.method ?? '', url, headers, bodyHash, time }, accessKey.secret)
  return expected === signature ? undefined : 'SignatureDoesNotMatch'
}

/**
 * The signature that a request must have in region us-east-1, by the letter of the description of AWS Signature
 * Version 4, and by no library that the store could share a mistake with. `headers` are the signed ones.
 */
export function signatureOf(
  {
    method,
    url,
    headers,
    bodyHash,
    time,
  }: {
    readonly method: string
    readonly url: URL
    readonly headers: Readonly<Record<string, string>>
    readonly bodyHash: string
    readonly time: string
  },
  secret: string,
): string {
  const day = time.slice(0, 8)
  const query = [...url.searchParams]
    .map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
    .sort()
    .join('&')
  const names = Object.keys(headers).sort()
  const lines = names.map((name) => `${name}:${headers[name]?.trim()}\n`).join('')
  const canonical = [method, url.pathname, query, lines, names.join(';'), bodyHash].join('\n')
  const toSign = ['AWS4-HMAC-SHA256', time, `${day}/us-east-1/s3/aws4_request`, sha256(Buffer.from(canonical))].join(
    '\n',
  )
  const key = ['us-east-1', 's3', 'aws4_request'].reduce(hmac, hmac(`AWS4${secret}`, day))
  return hmac(key, toSign).toString('hex')
}

function listOf(objects: FakeS3['objects'], query: URLSearchParams): string {
  const prefix = query.get('prefix') ?? ''
  const after = query.get('continuation-token') ?? ''
  const matching = [...objects.keys()].filter((key) => key.startsWith(prefix))
  const folder = (key: string): string => `${prefix}${key.slice(prefix.length).split('/')[0]}/`
  const entries = query.get('delimiter') ? [...new Set(matching.map(folder))] : matching
  const left = entries.sort().filter((entry) => entry > after)
  const page = left.slice(0, Math.min(PAGE, Number(query.get('max-keys') ?? 1000)))
  const tag = query.get('delimiter')
    ? (key: string) => `<CommonPrefixes><Prefix>${key}</Prefix></CommonPrefixes>`
    : (key: string) => `<Contents><Key>${key}</Key></Contents>`
  const more = left.length > page.length ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : ''
  return `<ListBucketResult><Prefix>${prefix}</Prefix>${page.map(tag).join('')}${more}</ListBucketResult>`
}

const encoded = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')
const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest()
