import { createFarebox, type Farebox, type FareboxOptions } from './client.ts'

/** A request as it left the client. */
export interface SentRequest {
  readonly method: string
  readonly path: string
  readonly headers: Headers
  readonly body: Readonly<Record<string, unknown>>
}

/** What a scripted server does with a request: an answer, or nothing (`lost`). */
export type Reply =
  | { readonly status: number; readonly body?: object; readonly headers?: Record<string, string> }
  | 'lost'

/** A client of a server that a test scripts, with everything that was sent and how long was slept. */
export interface Scripted {
  readonly farebox: Farebox
  readonly sent: SentRequest[]
  readonly sleptMs: number[]
}

/** Opens it. */
export function scripted(reply: (request: SentRequest) => Reply, options: Partial<FareboxOptions> = {}): Scripted {
  const sent: SentRequest[] = []
  const sleptMs: number[] = []
  const farebox = createFarebox({
    baseUrl: 'http://server.test',
    sleep: async (ms) => void sleptMs.push(ms),
    async fetch(url, init) {
      const { pathname, search } = new URL(String(url))
      const headers = new Headers(init?.headers)
      const body = JSON.parse(String(init?.body ?? '{}')) as SentRequest['body']
      const request = { method: init?.method ?? 'GET', path: pathname + search, headers, body }
      sent.push(request)
      const answer = reply(request)
      if (answer === 'lost') throw new TypeError('fetch failed')
      return Response.json(answer.body ?? {}, { status: answer.status, headers: answer.headers ?? {} })
    },
    ...options,
  })
  return { farebox, sent, sleptMs }
}

/** The answer of verify and refresh, with these tokens. */
export const signedIn = (generation: number): Reply => ({
  status: 200,
  body: {
    account: { id: 1, wallet_address: '0x1' },
    tokens: {
      access_token: `access-${generation}`,
      refresh_token: `refresh-${generation}`,
      api_key: '',
      expires_in: 3600,
    },
  },
})

/** A refusal in the server's flat form. */
export const refusal = (status: number, code: string, headers: Record<string, string> = {}): Reply => ({
  status,
  headers,
  body: { error: code, code, type: 'api_error', message: `It is ${code}.`, request_id: 'req_1' },
})
