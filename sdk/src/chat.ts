import { errorOf } from './errors.ts'
import type { Requests } from './requests.ts'

/** A chat request: `model`, `messages`, and whatever else the model takes. */
export interface ChatBody {
  readonly model: string
  readonly messages: ReadonlyArray<{
    readonly role: string
    readonly content: unknown
    readonly [field: string]: unknown
  }>
  readonly [field: string]: unknown
}

/** What a call used and cost. */
export interface ChatUsage {
  readonly prompt_tokens: number
  readonly completion_tokens: number
  /** In microcredits. */
  readonly cost_micro: number
  readonly [field: string]: unknown
}

/** A chat answer in OpenAI's form: what every model gives, and whatever else this one does. */
export interface ChatAnswer {
  readonly choices: ReadonlyArray<{
    readonly message: { readonly role: string; readonly content: string | null; readonly [field: string]: unknown }
    readonly finish_reason: string | null
    readonly [field: string]: unknown
  }>
  readonly usage: ChatUsage
  readonly [field: string]: unknown
}

/** A piece of a streamed answer. */
export interface ChatPart {
  /** What the first choice says next; "" in a piece that says nothing. */
  readonly text: string
  /** In the last piece only, and there unless the provider counted nothing. */
  readonly usage: ChatUsage | undefined
  /** The chunk as it came: tool calls, other choices. */
  readonly chunk: Readonly<Record<string, unknown>>
}

/** How a call is sent. */
export interface ChatOptions {
  /** The same key is the same call, charged once. Made up unless given; give one that outlives your process where it may crash. */
  readonly idempotencyKey?: string
  readonly signal?: AbortSignal
}

/** Calls of chat models. */
export interface Chat {
  /** The whole answer. A lost answer is asked for again, under the same key: the call is charged once. */
  chat(body: ChatBody, options?: ChatOptions): Promise<ChatAnswer>
  /** The answer as it is made; its last piece has the usage and the cost. An error after the first piece is thrown, and not tried again. */
  chatStream(body: ChatBody, options?: ChatOptions): AsyncGenerator<ChatPart>
}

/** The chat of a client. */
export function createChat({ json, events }: Requests): Chat {
  const requestOf = (body: object, { idempotencyKey = crypto.randomUUID(), signal }: ChatOptions = {}) =>
    ({ method: 'POST', path: '/v1/chat/completions', body, idempotencyKey, signal }) as const
  return {
    chat: (body, options) => json(requestOf({ ...body, stream: false }, options)),
    async *chatStream(body, options) {
      const streamed = { ...body, stream: true, stream_options: { include_usage: true } }
      for await (const data of await events(requestOf(streamed, options))) yield partOf(JSON.parse(data) as Chunk)
    },
  }
}

interface Chunk {
  readonly error?: Readonly<Record<string, unknown>>
  readonly choices?: ReadonlyArray<{ readonly delta?: { readonly content?: string | null } }>
  readonly usage?: ChatUsage | null
  readonly [field: string]: unknown
}

function partOf(chunk: Chunk): ChatPart {
  if (chunk.error) throw errorOf(0, chunk.error)
  return { text: chunk.choices?.[0]?.delta?.content ?? '', usage: chunk.usage ?? undefined, chunk }
}
