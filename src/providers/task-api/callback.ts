import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Callback } from '../media.ts'
import { objectFrom } from '../refusal.ts'
import type { CallbackSignature } from './options.ts'
import { filledText } from './template.ts'

/** Whether a callback carries a signature that only the holder of the secret can have made, and is not too old. */
export function isAuthentic({ headers, body }: Callback, by: CallbackSignature, nowMs: number): boolean {
  if (by.timestampHeader !== undefined) {
    const sentMs = Number(headers[by.timestampHeader]) * 1000
    if (!(Math.abs(nowMs - sentMs) <= by.toleranceMs)) return false
  }
  const text = Buffer.from(body).toString()
  // `{{body}}` is the body as it came; `{{body.x}}` a value inside it
  const content = filledText(by.content.replaceAll('{{body}}', '{{raw}}'), {
    raw: text,
    header: headers,
    body: objectFrom(text),
  })
  const right = createHmac('sha256', keyOf(by.secret)).update(content).digest()
  const given = (headers[by.header] ?? '').split(/\s+/).filter((signature) => signature.startsWith(by.prefix))
  return given.slice(0, SIGNATURES_MAX).some((signature) => {
    const bytes = Buffer.from(signature.slice(by.prefix.length), by.encoding)
    return bytes.length === right.length && timingSafeEqual(bytes, right)
  })
}

/** Secrets of Standard Webhooks are base64 behind a mark. */
const keyOf = (secret: string): Buffer =>
  secret.startsWith('whsec_') ? Buffer.from(secret.slice('whsec_'.length), 'base64') : Buffer.from(secret)

/** During a change of secrets there may be several; more is an attack. */
const SIGNATURES_MAX = 8
