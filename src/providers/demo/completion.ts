import type { JsonObject } from '../provider.ts'
import { imageCount, isObject, lastUserText, messagesOf, promptTokens, textOf, tokensOf } from './prompt.ts'
import { exampleOf } from './schema-example.ts'

/** What an answer is made from. */
export interface CompletionRequest {
  readonly body: JsonObject
  /** Makes the ids of the answer and its tool calls. */
  readonly id: string
  /** Unix seconds. */
  readonly created: number
  /** Whether the answer reports usage. */
  readonly metered: boolean
}

/** One of the `n` answers: text or a tool call, already cut to the token limit. */
export interface Choice {
  readonly text: string | undefined
  readonly toolCall: { readonly id: string; readonly name: string; readonly arguments: string } | undefined
  readonly finishReason: 'stop' | 'length' | 'tool_calls'
}

/** A whole answer, from which the plain body and the stream are made. */
export interface Completion {
  readonly body: JsonObject
  readonly choices: readonly Choice[]
  readonly wordCount: number
}

/** The answer to a chat request, or in a sentence what is wrong with the request. */
export function completionFor({ body, id, created, metered }: CompletionRequest): Completion | string {
  const n = body.n ?? 1
  if (typeof n !== 'number' || !Number.isInteger(n) || n < 1 || n > CHOICES_MAX) {
    return `n must be a whole number from 1 to ${CHOICES_MAX}.`
  }
  if (messagesOf(body).length === 0) return 'messages must hold at least one message.'
  const limit = outputLimit(body)
  if (limit < 1) return 'max_tokens must be at least 1.'
  const choices = Array.from({ length: n }, (_, index) => choiceFor(body, { id, index, n, limit }))
  return {
    choices,
    wordCount: Math.max(...choices.map(({ text, toolCall }) => wordsOf(text ?? toolCall?.arguments ?? '').length)),
    body: {
      id: `chatcmpl-demo-${id}`,
      object: 'chat.completion',
      created,
      model: body.model,
      choices: choices.map((choice, index) => ({
        index,
        message: messageFor(choice),
        logprobs: logprobsFor(choice.text, body),
        finish_reason: choice.finishReason,
      })),
      ...(metered ? { usage: usageFor(body, choices) } : {}),
    },
  }
}

/** The pieces that are streamed one by one: each word with the space before it. Joined they are the text. */
export const wordsOf = (text: string): string[] => text.match(/\s*\S+|\s+$/g) ?? []

/** OpenAI's `logprobs` member for a text, one token per word; null unless the request asks for it. */
export function logprobsFor(text: string | undefined, body: JsonObject): JsonObject | null {
  if (body.logprobs !== true || text === undefined) return null
  const content = wordsOf(text).map((token) => {
    const scored = { token, logprob: -0.125, bytes: [...Buffer.from(token)] }
    const alternatives = typeof body.top_logprobs === 'number' && body.top_logprobs > 0 ? [scored] : []
    return { ...scored, top_logprobs: alternatives }
  })
  return { content, refusal: null }
}

const CHOICES_MAX = 16

/** Keeps the answer short whatever was asked: it quotes at most this many characters. */
const QUOTE_LENGTH_MAX = 300

function choiceFor(body: JsonObject, at: { id: string; index: number; n: number; limit: number }): Choice {
  const tool = chosenTool(body)
  if (tool) {
    const name = String(tool.name)
    const json = JSON.stringify(exampleOf(tool.parameters ?? { type: 'object' }, lastUserText(body)))
    const left = Math.max(at.limit - tokensOf(name), 0)
    const toolCall = { id: `call_demo_${at.id}_${at.index}`, name, arguments: cut(json, left) }
    const finishReason = tokensOf(json) > left ? 'length' : 'tool_calls'
    return { text: undefined, toolCall, finishReason }
  }
  const whole = jsonAnswer(body) ?? proseAnswer(body, at)
  const text = cut(whole, at.limit)
  return { text, toolCall: undefined, finishReason: text === whole ? 'stop' : 'length' }
}

/** The tool that tool_choice forces, or that the last message, if a user's, mentions; the first for `required`. */
function chosenTool(body: JsonObject): JsonObject | undefined {
  const last = messagesOf(body).at(-1)
  const choice = body.tool_choice
  if (last?.role !== 'user' || choice === 'none' || !Array.isArray(body.tools)) return undefined
  const tools = body.tools
    .map((tool: unknown) => (isObject(tool) ? tool.function : undefined))
    .filter((tool) => isObject(tool))
  const forced = isObject(choice) && isObject(choice.function) ? choice.function.name : undefined
  if (forced !== undefined) return tools.find(({ name }) => name === forced)
  const text = textOf(last).toLowerCase()
  const mentioned = tools.find(({ name }) => typeof name === 'string' && text.includes(name.toLowerCase()))
  return mentioned ?? (choice === 'required' ? tools[0] : undefined)
}

function jsonAnswer(body: JsonObject): string | undefined {
  const format = body.response_format
  if (!isObject(format)) return undefined
  if (format.type === 'json_object') return JSON.stringify({ answer: quoted(lastUserText(body)) })
  if (format.type !== 'json_schema' || !isObject(format.json_schema)) return undefined
  return JSON.stringify(exampleOf(format.json_schema.schema, quoted(lastUserText(body))))
}

function proseAnswer(body: JsonObject, { index, n }: { index: number; n: number }): string {
  const last = messagesOf(body).at(-1) ?? {}
  const images = imageCount(body)
  return [
    n > 1 ? `Answer ${index + 1} of ${n}:` : '',
    last.role === 'tool'
      ? `The tool answered: "${quoted(textOf(last))}".`
      : `You said: "${quoted(lastUserText(body))}".`,
    images > 0 ? `I was shown ${images} ${images === 1 ? 'image' : 'images'}.` : '',
    'I am the built-in demo model: I answer offline, always the same way, so that you can try the service before you connect a real provider.',
  ]
    .filter((sentence) => sentence !== '')
    .join(' ')
}

function quoted(text: string): string {
  return text.length <= QUOTE_LENGTH_MAX ? text : `${text.slice(0, QUOTE_LENGTH_MAX).toWellFormed()}...`
}

function messageFor({ text, toolCall }: Choice): JsonObject {
  if (!toolCall) return { role: 'assistant', content: text, refusal: null }
  const { id, name, arguments: json } = toolCall
  return {
    role: 'assistant',
    content: null,
    refusal: null,
    tool_calls: [{ id, type: 'function', function: { name, arguments: json } }],
  }
}

function usageFor(body: JsonObject, choices: readonly Choice[]): JsonObject {
  const input = promptTokens(body)
  const limit = outputLimit(body)
  let output = 0
  for (const { text, toolCall } of choices) {
    const tokens = toolCall ? tokensOf(toolCall.name) + tokensOf(toolCall.arguments) : tokensOf(text ?? '')
    // A forced tool's name alone may exceed a tiny limit; the hold covers the limit and no more.
    output += Math.min(tokens, limit)
  }
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: 0 },
  }
}

/** The smaller of both fields of OpenAI; Infinity without either. */
function outputLimit(body: JsonObject): number {
  const limits = [body.max_tokens, body.max_completion_tokens].filter((limit) => typeof limit === 'number')
  return Math.min(...limits)
}

/** The longest beginning of at most `tokens` tokens that does not cut a character. */
function cut(text: string, tokens: number): string {
  if (tokensOf(text) <= tokens) return text
  const bytes = Buffer.from(text)
  let end = tokens * 4
  // A byte of the form 10xxxxxx continues a character.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1
  return bytes.toString('utf8', 0, end)
}
