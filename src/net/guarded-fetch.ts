import { lookup } from 'node:dns/promises'
import { isIP, type LookupFunction } from 'node:net'
import { Agent, buildConnector, type Dispatcher } from 'undici'
import { type AddressRule, addressRule } from './addresses.ts'
import { AddressRefused, addressMessage, BodyTooLarge, type FetchOutcome, outcomeOfError } from './outcome.ts'

/** What every request of one GuardedFetch shares. */
export interface GuardedFetchOptions {
  /** Networks in CIDR form that may be asked although they are not public, such as `127.0.0.0/8` in development. */
  readonly allowedNetworks: readonly string[]
  /** Sockets at most to one origin. */
  readonly connectionsPerOrigin: number
  /** The longest a connection may take to open, the name looked up and secured. */
  readonly connectTimeoutMs: number
  /** Gives the addresses of a name; absent: the system's resolver. */
  readonly resolve?: (hostname: string) => Promise<readonly string[]>
}

/** One request to an address that somebody else chose. */
export interface GuardedRequest {
  readonly url: string
  readonly method: 'GET' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  /** From the written request to the headers of its answer. */
  readonly headersTimeoutMs: number
  /** For all of it: redirects, connections and bodies together. */
  readonly totalTimeoutMs: number
  /** The largest body of an answer. */
  readonly bodyBytesMax: number
  /** What happens to a longer one: `refuse` (the default) ends as `failed`, `cut` keeps its beginning. */
  readonly excess?: 'refuse' | 'cut'
  /** How many redirects are followed; 0: a redirect is an answer like any other. */
  readonly redirectsMax: number
  /** Takes a successful (2xx) body piece by piece instead of collecting it. What it throws ends the request as `broken`. */
  readonly onPiece?: (piece: Buffer) => void | Promise<void>
  readonly signal?: AbortSignal
}

/** Fetches addresses that strangers chose, and only from the public internet. */
export interface GuardedFetch {
  /** Never rejects. */
  fetch(request: GuardedRequest): Promise<FetchOutcome>
  close(): Promise<void>
}

/**
 * Makes a GuardedFetch. The addresses of a name are judged by the lookup that the connection itself uses, and the
 * connected socket once more, so no second answer of a name server can slip in between. Each redirect is judged like a
 * first address. Throws TypeError on a network that is none.
 */
export function createGuardedFetch(options: GuardedFetchOptions): GuardedFetch {
  const rule = addressRule(options.allowedNetworks)
  const agent = new Agent({
    connect: guardedConnector(rule, options),
    connections: options.connectionsPerOrigin,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
    pipelining: 1,
  })
  return {
    fetch: (request) => follow(agent, rule, request),
    close: () => agent.destroy(),
  }
}

const KEEP_ALIVE_MS = 4000

/** Headers that belong to the first origin alone. */
const SECRET_HEADERS = new Set(['authorization', 'cookie', 'proxy-authorization'])

async function follow(agent: Agent, rule: AddressRule, request: GuardedRequest): Promise<FetchOutcome> {
  const limit = AbortSignal.timeout(request.totalTimeoutMs)
  const signal = request.signal ? AbortSignal.any([limit, request.signal]) : limit
  let step: Step = {
    url: request.url,
    method: request.method,
    headers: { 'accept-encoding': 'identity', ...lowerCased(request.headers ?? {}) },
    body: request.body,
  }
  for (let redirects = 0; ; redirects += 1) {
    const url = judged(step.url, rule)
    if (!(url instanceof URL)) return url
    let answer: { outcome: FetchOutcome; location: string | undefined }
    try {
      answer = await exchange(agent, url, step, request, signal)
    } catch (error) {
      // A body that is still being sent fails with whatever ended the socket; the limit is what ended it.
      return outcomeOfError(limit.aborted ? limit.reason : error, url.host)
    }
    if (answer.location === undefined || request.redirectsMax === 0) return answer.outcome
    if (redirects === request.redirectsMax) {
      return { kind: 'refused', reason: 'redirects', message: `${url.host} redirects too often.` }
    }
    step = next(step, url, answer)
  }
}

interface Step {
  readonly url: string
  readonly method: 'GET' | 'POST'
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array | undefined
}

/** The address as a URL when it may be asked as far as can be told without looking its name up. */
function judged(text: string, rule: AddressRule): URL | FetchOutcome {
  const refused = (message: string): FetchOutcome => ({ kind: 'refused', reason: 'url', message })
  if (!URL.canParse(text)) return refused('This is no URL.')
  const url = new URL(text)
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return refused('Only http:// and https:// can be asked.')
  if (url.username !== '' || url.password !== '') return refused('The URL must not contain a user or password.')
  const host = url.hostname.replace(/^\[|\]$/g, '')
  if (isIP(host) !== 0 && !rule.allows(host)) {
    return { kind: 'refused', reason: 'address', message: addressMessage(url.host) }
  }
  return url
}

async function exchange(
  agent: Agent,
  url: URL,
  step: Step,
  request: GuardedRequest,
  signal: AbortSignal,
): Promise<{ outcome: FetchOutcome; location: string | undefined }> {
  const response = await agent.request({
    origin: url.origin,
    path: url.pathname + url.search,
    method: step.method,
    headers: step.headers,
    body: step.body ?? null,
    headersTimeout: request.headersTimeoutMs,
    bodyTimeout: request.totalTimeoutMs,
    signal,
  })
  const headers = joined(response.headers)
  const status = response.statusCode
  const location = REDIRECTS.has(status) ? headers.location : undefined
  if (location !== undefined && request.redirectsMax > 0) {
    response.body.on('error', () => undefined).destroy()
    return { outcome: answered(status, headers, Buffer.alloc(0), false), location }
  }
  const { body, cut } = await read(response, request)
  return { outcome: answered(status, headers, body, cut), location }
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

const answered = (
  status: number,
  headers: Readonly<Record<string, string>>,
  body: Buffer,
  cut: boolean,
): FetchOutcome => ({ kind: 'answer', status, headers, body, cut })

async function read(
  { body, statusCode }: Dispatcher.ResponseData,
  { bodyBytesMax, excess, onPiece }: GuardedRequest,
): Promise<{ body: Buffer; cut: boolean }> {
  const take = statusCode >= 200 && statusCode < 300 ? onPiece : undefined
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of body as AsyncIterable<Buffer>) {
    const room = bodyBytesMax - bytes
    bytes += piece.length
    if (bytes > bodyBytesMax && excess !== 'cut') throw new BodyTooLarge()
    const kept = piece.length > room ? piece.subarray(0, room) : piece
    if (take) await take(kept)
    else pieces.push(kept)
    // Leaving the loop destroys the socket: what is cut is not read to its end.
    if (bytes > bodyBytesMax) break
  }
  return { body: Buffer.concat(pieces), cut: bytes > bodyBytesMax }
}

/** What a redirect asks for: 307 and 308 repeat the request, the others become a GET, as browsers do it. */
function next(
  step: Step,
  from: URL,
  { outcome, location = '' }: { outcome: FetchOutcome; location: string | undefined },
): Step {
  const target = URL.canParse(location, from.href) ? new URL(location, from.href) : undefined
  const repeats = outcome.kind === 'answer' && (outcome.status === 307 || outcome.status === 308)
  const keeps = (name: string): boolean =>
    (target?.origin === from.origin || !SECRET_HEADERS.has(name)) && (repeats || !name.startsWith('content-'))
  return {
    url: target?.href ?? '',
    method: repeats ? step.method : 'GET',
    headers: Object.fromEntries(Object.entries(step.headers).filter(([name]) => keeps(name))),
    body: repeats ? step.body : undefined,
  }
}

/** Connects like undici, but only to addresses that the rule allows. */
function guardedConnector(rule: AddressRule, options: GuardedFetchOptions): buildConnector.connector {
  const resolve = options.resolve ?? systemAddresses
  const connect = buildConnector({ timeout: options.connectTimeoutMs, lookup: guardedLookup(rule, resolve) })
  return (target, callback) => {
    connect(target, (error, socket) => {
      if (error) return callback(error, null)
      const address = socket?.remoteAddress
      if (address !== undefined && rule.allows(address)) return callback(null, socket)
      socket?.destroy()
      callback(new AddressRefused(), null)
    })
  }
}

const systemAddresses = async (hostname: string): Promise<string[]> =>
  (await lookup(hostname, { all: true })).map(({ address }) => address)

/** A name with one forbidden address is refused whole: an honest one has none. */
function guardedLookup(rule: AddressRule, resolve: (hostname: string) => Promise<readonly string[]>): LookupFunction {
  return (hostname, { all }, callback) => {
    resolve(hostname).then(
      (addresses) => {
        const [first] = addresses
        if (first === undefined || !addresses.every((address) => rule.allows(address))) {
          callback(new AddressRefused(), '', 0)
        } else if (all) {
          callback(
            null,
            addresses.map((address) => ({ address, family: isIP(address) })),
          )
        } else callback(null, first, isIP(first))
      },
      (error: unknown) => callback(error instanceof Error ? error : new Error('lookup failed'), '', 0),
    )
  }
}

const lowerCased = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))

const joined = (headers: Dispatcher.ResponseData['headers']): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name.toLowerCase(), Array.isArray(value) ? value.join(', ') : value]],
    ),
  )
