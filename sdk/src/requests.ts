import type { paths } from './api.d.ts'
import { AuthenticationError, PermissionError } from './errors.ts'
import type { Session } from './session.ts'
import type { ApiRequest, Transport } from './transport.ts'

type Json<R> = R extends { content: { 'application/json': infer Body } } ? Body : never
type Successes<R> = { [S in keyof R]: S extends 200 | 201 | 202 ? Json<R[S]> : never }[keyof R]

/** What an endpoint answers when all is well, by its path and method. */
export type Answer<P extends keyof paths, M extends keyof paths[P]> = paths[P][M] extends { responses: infer R }
  ? Successes<R>
  : never

/** A method of HTTP that the API has. */
export type Method = NonNullable<ApiRequest['method']>
/** The paths that have this method, as the OpenAPI document writes them. */
export type PathOf<M extends Method> = {
  [P in keyof paths]: paths[P][Lowercase<M>] extends { responses: unknown } ? P : never
}[keyof paths]
/** What a request to this endpoint may carry. */
export interface Sent<O> {
  /** The values of `{...}` in the path. */
  readonly path?: O extends { parameters: { path: infer Path } } ? Path : never
  readonly query?: O extends { parameters: { query?: infer Query } } ? Query : never
  readonly body?: O extends { requestBody?: { content: { 'application/json': infer Body } } } ? Body : never
  /** Makes a repeat harmless, where the endpoint takes one. */
  readonly idempotencyKey?: string
  readonly signal?: AbortSignal
}

type AnySent = Omit<Sent<unknown>, 'path' | 'query' | 'body'> & {
  readonly path?: object
  readonly query?: object
  readonly body?: unknown
}

/** Any endpoint of the API, typed by the server's OpenAPI document. */
export type Call = <M extends Method, P extends PathOf<M>>(
  method: M,
  path: P,
  sent?: Sent<paths[P][Lowercase<M>]>,
) => Promise<Answer<P, Lowercase<M>>>

/** Sends requests in the name of whoever the client is. */
export interface Requests {
  readonly transport: Transport
  /** With the key or the session; a session is renewed once when its token was refused. */
  json<T>(request: ApiRequest): Promise<T>
  /** As `json`, for the endpoints that take a session and no key. */
  session<T>(request: ApiRequest): Promise<T>
  events(request: ApiRequest): Promise<AsyncGenerator<string>>
  readonly call: Call
}

/**
 * Joins transport and credentials: the API key where there is one, else the session. What takes a session and no key is
 * sent again in a session where `canSignIn`: it was refused, so it did nothing.
 */
export function createRequests(
  transport: Transport,
  session: Session,
  { apiKey, canSignIn }: { readonly apiKey: string | undefined; readonly canSignIn: boolean },
): Requests {
  async function bySession<T>(send: (token: string) => Promise<T>): Promise<T> {
    const token = await session.accessToken()
    try {
      return await send(token)
    } catch (error) {
      if (!(error instanceof AuthenticationError)) throw error
      return send(await session.renew(token))
    }
  }
  async function authorized<T>(send: (token: string) => Promise<T>): Promise<T> {
    if (apiKey === undefined) return bySession(send)
    try {
      return await send(apiKey)
    } catch (error) {
      const takesSession = error instanceof PermissionError && error.code === 'access_token_required'
      if (takesSession && canSignIn) return bySession(send)
      throw error
    }
  }
  const json = <T>(request: ApiRequest): Promise<T> => authorized((token) => transport.json<T>(request, token))
  return {
    transport,
    json,
    session: (request) => bySession((token) => transport.json(request, token)),
    events: (request) => authorized((token) => transport.events(request, token)),
    // the types of `Call` are those of the document, which no generic body can be checked against
    call: ((method: Method, path: string, { path: values = {}, query = {}, ...sent }: AnySent = {}) =>
      json({ method, path: addressOf(path, values, query), ...sent })) as Call,
  }
}

/** A path with its values filled in, and its query. */
export function addressOf(path: string, values: object, query: object): string {
  const given = new Map(Object.entries(values))
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name) => {
    if (given.get(name) === undefined) throw new TypeError(`${path} needs a value for ${name}.`)
    return encodeURIComponent(String(given.get(name)))
  })
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined)
  return pairs.length === 0 ? filled : `${filled}?${new URLSearchParams(pairs.map(([k, v]) => [k, String(v)]))}`
}
