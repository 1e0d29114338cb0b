import { type JsonObject, ProviderLost } from '../provider.ts'
import { type Choice, type Completion, logprobsFor, wordsOf } from './completion.ts'
import { isObject } from './prompt.ts'

/** The pauses of a stream. `wait` rejects when the signal aborts. */
export interface Pace {
  readonly firstTokenMs: number
  readonly tokenMs: number
  readonly signal: AbortSignal
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>
}

/**
 * The chunks of an answer in OpenAI's form: the role first, one word per chunk, finish_reason last; with
 * `stream_options.include_usage` every chunk carries `usage: null` and a last one without choices the usage.
 */
export function* chunksOf({ body, choices }: Completion, request: JsonObject): Generator<JsonObject> {
  const options = request.stream_options
  const asked = isObject(options) && options.include_usage === true
  const { id, created, model, usage } = body
  const envelope = { id, object: 'chat.completion.chunk', created, model }
  const withUsage = asked && usage !== undefined
  for (const [index, choice] of choices.entries()) {
    for (const delta of deltasOf(choice)) {
      const logprobs = logprobsFor(delta.content || undefined, request)
      yield {
        ...envelope,
        choices: [{ index, delta, logprobs, finish_reason: null }],
        ...(withUsage ? { usage: null } : {}),
      }
    }
    yield {
      ...envelope,
      choices: [{ index, delta: {}, logprobs: null, finish_reason: choice.finishReason }],
      ...(withUsage ? { usage: null } : {}),
    }
  }
  if (withUsage) yield { ...envelope, choices: [], usage }
}

/** Payloads one by one in the given pace. With `cut` it breaks off in the middle, before any usage. */
export async function* paced(
  chunks: Iterable<JsonObject>,
  { firstTokenMs, tokenMs, signal, wait }: Pace,
  cut: boolean,
): AsyncGenerator<readonly string[], void, undefined> {
  const payloads = Array.from(chunks, (chunk) => JSON.stringify(chunk))
  const stop = cut ? Math.floor(payloads.length / 2) : payloads.length
  let pauseMs = firstTokenMs
  for (const payload of payloads.slice(0, stop)) {
    try {
      if (pauseMs > 0) await wait(pauseMs, signal)
      signal.throwIfAborted()
    } catch {
      throw new ProviderLost('The call to the demo provider was aborted.')
    }
    yield [payload]
    pauseMs = tokenMs
  }
  if (cut) throw new ProviderLost('The demo provider broke its answer off, as asked.')
}

interface Delta extends JsonObject {
  readonly content?: string | null
}

/** The id and name of a tool call come first, then its arguments in pieces. */
function* deltasOf({ text, toolCall }: Choice): Generator<Delta> {
  if (!toolCall) {
    yield { role: 'assistant', content: '' }
    for (const content of wordsOf(text ?? '')) yield { content }
    return
  }
  const { id, name, arguments: json } = toolCall
  yield {
    role: 'assistant',
    content: null,
    tool_calls: [{ index: 0, id, type: 'function', function: { name, arguments: '' } }],
  }
  for (let start = 0; start < json.length; start += ARGUMENTS_PIECE_LENGTH) {
    const piece = json.slice(start, start + ARGUMENTS_PIECE_LENGTH)
    yield { tool_calls: [{ index: 0, function: { arguments: piece } }] }
  }
}

const ARGUMENTS_PIECE_LENGTH = 12
