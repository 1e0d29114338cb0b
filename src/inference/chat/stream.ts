import { type ErrorCode, Fault } from '../../kernel/errors.ts'
import { type JsonObject, type Usage, usageFrom } from '../../providers/provider.ts'

/** Where the frames of a stream go. Writing never fails: once the client is gone it does nothing. */
export interface Sink {
  /** Waits while the client does not read. */
  write(text: string): Promise<void> | undefined
  readonly gone: boolean
}

/** What was learnt from the frames that went by. */
export interface StreamSeen {
  usage: Usage | undefined
  rawUsage: JsonObject | undefined
  /** The last frame, whose id, created and model the closing usage frame repeats. */
  lastFrame: string | undefined
  /** An error that the provider reported inside its stream. */
  error: { message: string } | undefined
}

/**
 * Rewrites one batch of a provider's frames for the client: our model id, usage taken out (it comes back with the
 * cost in the closing frame), an error inside the stream remembered instead of passed on.
 */
export function rewriteBatch(
  batch: readonly string[],
  seen: StreamSeen,
  wanted: { modelId: string; includeUsage: boolean },
): string {
  let text = ''
  const model = `"model":${JSON.stringify(wanted.modelId)}`
  for (const data of batch) {
    let frame = data
    if (
      mentions(frame, '"usage"', '"usage":null') ||
      frame.includes('"error"') ||
      (!wanted.includeUsage && frame.includes('"choices":[]'))
    ) {
      const kept = inspect(frame, seen, wanted.includeUsage)
      if (kept === undefined) continue
      frame = kept
    }
    seen.lastFrame = frame
    // quotes inside strings are escaped, so the first bare match is the member itself
    const named = frame.replace(/"model":\s*"(?:[^"\\]|\\.)*"/, () => model)
    // a payload of several lines travels as several data lines
    text += `data: ${named.includes('\n') ? named.replaceAll('\n', '\ndata: ') : named}\n\n`
  }
  return text
}

/** True when the text has `name` other than as the given null member: the fast way out for nearly all frames. */
function mentions(text: string, name: string, asNull: string): boolean {
  const at = text.indexOf(name)
  return at >= 0 && !(text.startsWith(asNull, at) && text.indexOf(name, at + name.length) < 0)
}

/** Reads a frame that may carry usage or an error; gives what is left of it for the client, or nothing. */
function inspect(frame: string, seen: StreamSeen, includeUsage: boolean): string | undefined {
  let parsed: JsonObject
  try {
    parsed = JSON.parse(frame) as JsonObject
  } catch {
    return frame
  }
  const usage = usageFrom(parsed.usage)
  if (usage) {
    seen.usage = usage
    seen.rawUsage = parsed.usage as JsonObject
  }
  // some providers send choices with their error: whatever they say then belongs to the error
  if (parsed.error !== undefined && parsed.error !== null) {
    seen.error = { message: reportedError(parsed.error) }
    return undefined
  }
  const empty = Array.isArray(parsed.choices) && parsed.choices.length === 0
  // a client that did not ask for usage reads choices[0] of every frame
  if (empty && (usage || !includeUsage)) {
    seen.lastFrame ??= frame
    return undefined
  }
  if (!usage) return frame
  // some providers repeat usage in every frame: clients that did not ask for it should not see it
  if (includeUsage) parsed.usage = null
  else delete parsed.usage
  return JSON.stringify(parsed)
}

/** Kinds of errors that providers of this protocol report. Any other word of theirs could repeat a key or the prompt. */
const reportedKinds = new Set([
  'api_error',
  'content_filter',
  'context_length_exceeded',
  'insufficient_quota',
  'internal_error',
  'invalid_request_error',
  'model_overloaded',
  'overloaded_error',
  'rate_limit_error',
  'rate_limit_exceeded',
  'server_error',
  'service_unavailable',
  'timeout',
  'tokens',
])

/** The kind of an error that a provider reported in its stream, and nothing else of it. */
function reportedError(error: unknown): string {
  const { type, code } =
    typeof error === 'object' && error !== null ? (error as { type?: unknown; code?: unknown }) : {}
  const kind = [code, type].find((value) => typeof value === 'string' && reportedKinds.has(value))
  return `the provider reported an error inside its answer${kind === undefined ? '' : `: ${String(kind)}`}`
}

/** The provider's id of the answer, as its frames carry it; undefined where they do not. */
export function responseIdOf({ lastFrame }: StreamSeen): unknown {
  try {
    return (JSON.parse(lastFrame ?? '{}') as JsonObject).id
  } catch {
    return undefined
  }
}

/** The closing usage frame: what the provider counted and what it cost. */
export function usageFrame(seen: StreamSeen, modelId: string, costMicro: bigint | undefined): string {
  let head: JsonObject = {}
  try {
    head = JSON.parse(seen.lastFrame ?? '{}') as JsonObject
  } catch {
    // a provider's frame that is no JSON was passed on as it was; the closing frame then has no id of its own
  }
  const usage = seen.rawUsage
    ? { ...seen.rawUsage, ...(costMicro === undefined ? {} : { cost_micro: Number(costMicro) }) }
    : null
  return `data: ${JSON.stringify({ id: head.id, object: 'chat.completion.chunk', created: head.created, model: modelId, choices: [], usage })}\n\n`
}

/** An error inside a stream, in the nested form that clients of streams read. */
export function errorFrame(code: ErrorCode, message: string | undefined, requestId: string): string {
  const fault = new Fault(code, message === undefined ? {} : { message })
  return `data: ${JSON.stringify({ error: { message: fault.message, type: fault.refusal.type, code, param: null, request_id: requestId } })}\n\n`
}

/** A whole answer as the frames of a stream, for providers that do not stream: one frame for all choices, and the usage. */
export async function* framesOf(answer: JsonObject): AsyncGenerator<readonly string[]> {
  const { choices, usage, object: _object, ...head } = answer
  const chunk = { ...head, object: 'chat.completion.chunk' }
  const deltas = (Array.isArray(choices) ? (choices as JsonObject[]) : []).map(({ message, ...choice }) => ({
    ...choice,
    delta: withToolIndexes(message),
  }))
  yield [
    JSON.stringify({ ...chunk, choices: deltas }),
    ...(usage ? [JSON.stringify({ ...chunk, choices: [], usage })] : []),
  ]
}

/** Tool calls of a delta carry their index, which those of a whole message do not. */
function withToolIndexes(message: unknown): JsonObject {
  const delta = (message ?? {}) as JsonObject
  if (!Array.isArray(delta.tool_calls)) return delta
  return { ...delta, tool_calls: (delta.tool_calls as JsonObject[]).map((call, index) => ({ index, ...call })) }
}
