import { ApiError } from './error.ts'

/** A request of the API. */
export interface ApiCall {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal | undefined
}

const TIMEOUT_MS = 60_000

/** Sends one request and reads its JSON. Throws ApiError for refusals and for a server that cannot be reached. */
export async function send<T>(path: string, call: ApiCall = {}, token?: string): Promise<T> {
  const { method = 'GET', body, headers, signal } = call
  let response: Response
  try {
    response = await fetch(path, {
      method,
      headers: {
        accept: 'application/json',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.any([AbortSignal.timeout(TIMEOUT_MS), ...(signal ? [signal] : [])]),
    })
  } catch (error) {
    if (signal?.aborted) throw error
    throw new ApiError(0, {})
  }
  const text = await response.text()
  const json = parsed(text)
  if (response.ok) return (call.headers?.accept === 'text/csv' ? text : json) as T
  throw new ApiError(response.status, json ?? { message: `The server answered ${response.status} without saying why.` })
}

function parsed(text: string): Record<string, unknown> | undefined {
  try {
    return text === '' ? {} : JSON.parse(text)
  } catch {
    return undefined
  }
}
