import type { paths } from './api.d.ts'
import { AuthenticationError } from './errors.ts'
import type { Session } from './session.ts'
import type { ApiRequest, Transport } from './transport.ts'

type Json<R> = R extends { content: { 'application/json': infer Body } } ? Body : never
type Successes<R> = { [S in keyof R]: S extends 200 | 201 | 202 ? Json<R[S]> : never }[keyof R]

/** What an endpoint answers when all is well, by its path and method. */
export type Answer<P extends keyof paths, M extends keyof paths[P]> = paths[P][M] extends { responses: infer R }
  ? Successes<R>
  : never

/** Sends requests in the name of whoever the client is. */
export interface Requests {
  readonly transport: Transport
  /** With the key or the session; a session is renewed once when its token was refused. */
  json<T>(request: ApiRequest): Promise<T>
  /** As `json`, for the endpoints that take a session and no key. */
  session<T>(request: ApiRequest): Promise<T>
}

/** Joins transport and credentials: the API key where there is one, else the session. */
export function createRequests(transport: Transport, session: Session, apiKey: string | undefined): Requests {
  async function bySession<T>(request: ApiRequest): Promise<T> {
    const token = await session.accessToken()
    try {
      return await transport.json<T>(request, token)
    } catch (error) {
      if (!(error instanceof AuthenticationError)) throw error
      return transport.json<T>(request, await session.renew(token))
    }
  }
  return {
    transport,
    session: bySession,
    json: (request) => (apiKey === undefined ? bySession(request) : transport.json(request, apiKey)),
  }
}
