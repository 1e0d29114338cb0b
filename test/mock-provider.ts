import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { JsonObject } from '../src/providers/provider.ts'

/** One call as the provider sees it. */
export interface MockCall {
  readonly body: JsonObject
  readonly headers: IncomingHttpHeaders
  readonly response: ServerResponse
}

/** How the provider treats a call. */
export type Behaviour = (call: MockCall) => void | Promise<void>

/** A scripted OpenAI-compatible server on loopback. */
export interface MockProvider {
  readonly baseUrl: string
  /** Every call that arrived, in order. */
  readonly calls: MockCall[]
  /** What is done with a call for which nothing was queued. */
  behaviour: Behaviour
  /** Queues behaviours for the next calls, one each. */
  next(...behaviours: Behaviour[]): void
  /** Resolves once `count` calls have arrived in all. */
  arrived(count: number): Promise<void>
  close(): Promise<void>
}

/** Starts a provider that answers `pong` with a usage of 10 and 5 tokens until told otherwise. */
export async function startMockProvider(): Promise<MockProvider> {
  const queued: Behaviour[] = []
  const waiting: Array<{ count: number; wake: () => void }> = []
  const server = createServer(async (request, response) => {
    response.on('error', () => undefined)
    let text = ''
    for await (const piece of request) text += piece
    const call = { body: JSON.parse(text) as JsonObject, headers: request.headers, response }
    mock.calls.push(call)
    for (const { count, wake } of waiting) if (mock.calls.length >= count) wake()
    await (queued.shift() ?? mock.behaviour)(call)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const mock: MockProvider = {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    calls: [],
    behaviour: answering(),
    next: (...behaviours) => void queued.push(...behaviours),
    arrived: (count) =>
      mock.calls.length >= count ? Promise.resolve() : new Promise((wake) => waiting.push({ count, wake })),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return mock
}

/** Tokens as OpenAI reports them. */
export const usageOf = (input: number, output: number, cached = 0): JsonObject => ({
  prompt_tokens: input,
  completion_tokens: output,
  total_tokens: input + output,
  ...(cached > 0 ? { prompt_tokens_details: { cached_tokens: cached } } : {}),
})

const ID = { id: 'chatcmpl-mock', created: 1_767_225_600, model: 'upstream-name' }

/** Answers a call of either kind. `usage: null` reports none. */
export function answering({
  content = 'pong',
  usage = usageOf(10, 5),
}: {
  content?: string
  usage?: JsonObject | null
} = {}): Behaviour {
  return (call) => {
    if (call.body.stream === true) return streaming([chunk(content), finish, ...(usage ? [closing(usage)] : [])])(call)
    json(call.response, 200, {
      ...ID,
      object: 'chat.completion',
      choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
      ...(usage ? { usage } : {}),
    })
  }
}

/** Refuses with a status and OpenAI's error body. */
export function refusing(status: number, message = 'no', headers: Record<string, string> = {}): Behaviour {
  return ({ response }) => json(response, status, { error: { message, type: 'mock_error', code: null } }, headers)
}

/** Reads the request and hangs up without an answer. */
export const hangingUp: Behaviour = ({ response }) => void response.destroy()

/** Never answers. */
export const silent: Behaviour = () => undefined

/** Streams frames as they are given, then `[DONE]`; `end: 'cut'` breaks the connection instead. */
export function streaming(frames: readonly (JsonObject | string)[], end: 'done' | 'cut' | 'quiet' = 'done'): Behaviour {
  return async ({ response }) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const frame of frames)
      await write(response, typeof frame === 'string' ? frame : `data: ${JSON.stringify(frame)}\n\n`)
    if (end === 'done') response.end('data: [DONE]\n\n')
    else if (end === 'quiet') response.end()
    // what was written must have left before the connection breaks
    else setImmediate(() => response.destroy())
  }
}

/** A chunk with a piece of text. */
export const chunk = (content: string): JsonObject => ({
  ...ID,
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta: { content }, finish_reason: null }],
})

/** The last chunk of a choice. */
export const finish: JsonObject = {
  ...ID,
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta: {}, finish_reason: 'stop' }],
}

/** The closing chunk that reports usage. */
export const closing = (usage: JsonObject): JsonObject => ({
  ...ID,
  object: 'chat.completion.chunk',
  choices: [],
  usage,
})

/** A behaviour that waits until it is let go; `arrived` resolves when the call is there. */
export function gated(behaviour: Behaviour): { behaviour: Behaviour; open: () => void } {
  const gate = Promise.withResolvers<void>()
  return {
    open: gate.resolve,
    behaviour: async (call) => {
      await gate.promise
      await behaviour(call)
    },
  }
}

/** Writes and waits while the reader is slow; gives up when it is gone. */
export async function write(response: ServerResponse, text: string): Promise<void> {
  if (response.destroyed || response.write(text)) return
  await new Promise<void>((resolve) => {
    const go = () => {
      response.off('drain', go).off('close', go)
      resolve()
    }
    response.on('drain', go).on('close', go)
  })
}

function json(response: ServerResponse, status: number, body: JsonObject, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}
