import type { JsonObject } from '../provider.ts'

/** What an image part counts as, like OpenAI's low detail. A model's price table must hold at least this. */
export const DEMO_IMAGE_TOKENS = 85

/** The tokens of each message besides its text. */
export const DEMO_MESSAGE_TOKENS = 3

/** Tokens of a text: a quarter of its UTF-8 bytes, rounded up. */
export const tokensOf = (text: string): number => Math.ceil(Buffer.byteLength(text) / 4)

/**
 * Tokens of the prompt: all of its text (contents, tool calls, tool definitions) taken as one, plus 3 per
 * message and 85 per image. Every counted byte stands in the request body and the total is rounded up
 * once, so this never exceeds the hold's input bound (decisions 5): a third of the bytes rounded up, plus an
 * overhead of at least 3 per message, plus the images.
 */
export function promptTokens(body: JsonObject): number {
  const messages = messagesOf(body)
  let bytes = body.tools === undefined ? 0 : Buffer.byteLength(JSON.stringify(body.tools))
  for (const message of messages) {
    bytes += Buffer.byteLength(textOf(message))
    if (message.tool_calls) bytes += Buffer.byteLength(JSON.stringify(message.tool_calls))
  }
  return Math.ceil(bytes / 4) + messages.length * DEMO_MESSAGE_TOKENS + imageCount(body) * DEMO_IMAGE_TOKENS
}

/** The messages that are objects; anything else in the list is not counted and not answered. */
export function messagesOf(body: JsonObject): JsonObject[] {
  return Array.isArray(body.messages) ? body.messages.filter(isObject) : []
}

/** A message's text: the content itself, or its text parts joined. */
export function textOf(message: JsonObject): string {
  if (typeof message.content === 'string') return message.content
  return partsOf(message)
    .map((part) => (typeof part.text === 'string' ? part.text : ''))
    .join('')
}

/** The text of the last message whose role is `user`, or an empty string. */
export function lastUserText(body: JsonObject): string {
  const message = messagesOf(body).findLast(({ role }) => role === 'user')
  return message ? textOf(message) : ''
}

/** Image parts in all messages. */
export function imageCount(body: JsonObject): number {
  return messagesOf(body)
    .flatMap(partsOf)
    .filter(({ type }) => type === 'image_url' || type === 'input_image').length
}

/** Whether a parsed value is a JSON object. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const partsOf = (message: JsonObject): JsonObject[] =>
  Array.isArray(message.content) ? message.content.filter(isObject) : []
