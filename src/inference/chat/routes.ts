import type { FastifyReply } from 'fastify'
import { once } from '../../billing/idempotency/once.ts'
import { type Claimed, REPLAY_BYTES_MAX } from '../../billing/idempotency/service.ts'
import type { Database } from '../../db/database.ts'
import { integer } from '../../http/fields.ts'
import { namedBy, sendStored } from '../../http/repeats.ts'
import { type Call, type Route, route } from '../../http/route.ts'
import { Fault } from '../../kernel/errors.ts'
import type { JsonObject } from '../../providers/provider.ts'
import { type ChatDeps, price } from './running.ts'
import { ChatBody, ChatCompletion, ChatEstimate } from './schema.ts'
import { answerChat, streamChat } from './service.ts'
import type { Sink } from './stream.ts'

/** What the chat routes need besides the service: idempotency and limits. */
export interface ChatRouteDeps extends ChatDeps {
  readonly db: Database
  readonly processId: bigint
  readonly onTrouble: (message: string, error: unknown) => void
  readonly chatBodyLimit: number
  /** Streams served at once at most; undefined is no limit but memory. */
  readonly streamsMax: number | undefined
}

const PATH = '/v1/chat/completions'
/** A client that reads nothing for this long counts as gone. */
const STALLED_AFTER_MS = 60_000
const SSE = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
  'x-accel-buffering': 'no',
}

/** Endpoints of chat (spec 4.2). */
export function chatRoutes(deps: ChatRouteDeps): Route[] {
  let streams = 0
  const openStream = (): (() => void) => {
    if (deps.streamsMax !== undefined && streams >= deps.streamsMax)
      throw new Fault('overloaded', {
        message: `${streams} streams are open already. Nothing was charged.`,
        retryAfterMs: 1000,
      })
    streams += 1
    return () => {
      streams -= 1
    }
  }

  return [
    route({
      method: 'POST',
      path: PATH,
      summary: 'Call a chat model, whole or streamed; charged by the usage that the provider reports.',
      tag: 'Chat',
      access: 'spending',
      body: ChatBody,
      example: { model: 'demo-chat', messages: [{ role: 'user', content: 'hello' }] },
      bodyLimit: deps.chatBodyLimit,
      replies: { 200: ChatCompletion },
      refuses: [
        'model_not_found',
        'insufficient_credits',
        'budget_exceeded',
        'invalid_idempotency_key',
        'idempotency_conflict',
        'request_in_progress',
        'answer_not_kept',
        'upstream_refused',
        'upstream_failed',
        'upstream_timeout',
        'upstream_interrupted',
        'overloaded',
        'shutting_down',
      ],
      handle: (call) => answerOnce(deps, call, openStream),
    }),
    route({
      method: 'POST',
      path: `${PATH}/estimate`,
      summary: 'Say what a chat call would hold and cost at most, without making it.',
      tag: 'Chat',
      access: 'any',
      extension: true,
      body: ChatBody,
      example: { model: 'demo-chat', messages: [{ role: 'user', content: 'hello' }] },
      bodyLimit: deps.chatBodyLimit,
      replies: { 200: ChatEstimate },
      refuses: ['model_not_found'],
      handle: ({ body, requestId }) => {
        const { model, price: inForce, bounds, wantedMicro, minimumMicro } = price(deps, body)
        return {
          model: model.id,
          hold_micro: integer(wantedMicro),
          minimum_hold_micro: integer(minimumMicro),
          input_tokens_bound: bounds.inputTokens,
          output_tokens_bound: bounds.outputTokens,
          price_version: inForce.version,
          request_id: requestId,
        }
      },
    }),
  ]
}

type ChatRequest = Call<unknown, unknown, JsonObject>

const answerOnce = (deps: ChatRouteDeps, call: ChatRequest, openStream: () => () => void): Promise<unknown> =>
  once<unknown>(
    deps,
    { ...namedBy(call, PATH), body: call.body },
    {
      run: (claimed) =>
        call.body.stream === true ? sendStream(deps, call, claimed, openStream) : sendWhole(deps, call, claimed),
      replay: (answer) => sendStored(call.reply, answer),
    },
  )

async function sendWhole(deps: ChatRouteDeps, call: ChatRequest, claimed: Claimed | undefined): Promise<unknown> {
  const { headers, body } = await answerChat(deps, call)
  const sent = { ...headers, 'content-type': 'application/json; charset=utf-8' }
  const answer = { status: 200, headers: sent, body: JSON.stringify(body) }
  await claimed?.complete(answer)
  return sendStored(call.reply, answer)
}

async function sendStream(
  deps: ChatRouteDeps,
  call: ChatRequest,
  claimed: Claimed | undefined,
  openStream: () => () => void,
): Promise<unknown> {
  const closeStream = openStream()
  try {
    const stream = await streamChat(deps, call)
    const { reply } = call
    reply.hijack()
    const headers = { ...stream.headers, ...SSE }
    // the framework's headers (request id, limits) are not written for us once the socket is ours
    reply.raw.writeHead(200, { ...(reply.getHeaders() as Record<string, string>), ...headers })
    reply.raw.flushHeaders()
    const written: string[] = []
    const sink = sinkOf(reply)
    await stream.pump(claimed ? recording(sink, written) : sink)
    await claimed?.complete({ status: 200, headers, body: written.join('') })
    reply.raw.end()
    return reply
  } finally {
    closeStream()
  }
}

/** Writes to the client's socket, waiting while it is full; silent once the client is gone or has stalled. */
function sinkOf(reply: FastifyReply): Sink {
  const { raw } = reply
  let gone = raw.destroyed
  const left = () => {
    gone = true
  }
  raw.once('close', left)
  raw.once('error', left)
  return {
    get gone() {
      return gone
    },
    write(text) {
      if (gone || text.length === 0) return undefined
      if (raw.write(text)) return undefined
      return new Promise<void>((resolve) => {
        const go = () => {
          clearTimeout(stalled)
          raw.off('drain', go)
          raw.off('close', go)
          resolve()
        }
        const stalled = setTimeout(() => {
          gone = true
          raw.destroy()
          go()
        }, STALLED_AFTER_MS)
        raw.once('drain', go)
        raw.once('close', go)
      })
    },
  }
}

/** Keeps what is written for replay, also what is written after the client has left. */
function recording(sink: Sink, written: string[]): Sink {
  let length = 0
  return {
    get gone() {
      return sink.gone
    },
    write(text) {
      // what is longer than can be kept is not collected either: one piece more tells that it is too long
      if (length <= REPLAY_BYTES_MAX) written.push(text)
      length += text.length
      return sink.write(text)
    },
  }
}
