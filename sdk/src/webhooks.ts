/** An event that a server delivered (Standard Webhooks). */
export interface WebhookEvent {
  readonly type: string
  readonly timestamp: string
  readonly data: Readonly<Record<string, unknown>>
}

/** A delivery that must not be believed. Answer it with 400. */
export class WebhookNotAuthentic extends Error {
  override name = 'WebhookNotAuthentic'
}

const TOLERANCE_SECONDS = 5 * 60

/**
 * The event of a delivery, once its signature and age are checked. `body` is the text as it arrived, not parsed and
 * written again. While a secret is rotated the delivery is signed by both: either is enough. Deliveries may repeat:
 * the header `webhook-id` tells them apart. Rejects with WebhookNotAuthentic.
 */
export async function verifyWebhook(
  {
    body,
    headers,
  }: { readonly body: string; readonly headers: Headers | Readonly<Record<string, string | undefined>> },
  secret: string,
  nowMs: number = Date.now(),
): Promise<WebhookEvent> {
  const header = (name: string): string => (headers instanceof Headers ? headers.get(name) : headers[name]) ?? ''
  const [id, timestamp] = [header('webhook-id'), header('webhook-timestamp')]
  const age = Math.abs(nowMs / 1000 - Number(timestamp))
  if (id === '' || !(age <= TOLERANCE_SECONDS)) throw new WebhookNotAuthentic('The delivery has no id, or is too old.')
  const secretBytes = bytesOf(secret.replace(/^whsec_/, ''))
  const key = await crypto.subtle.importKey('raw', secretBytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify'])
  const signed = new TextEncoder().encode(`${id}.${timestamp}.${body}`)
  for (const part of header('webhook-signature').split(' ')) {
    const [version, signature = ''] = part.split(',', 2)
    if (version !== 'v1') continue
    if (await crypto.subtle.verify('HMAC', key, bytesOf(signature), signed)) return JSON.parse(body) as WebhookEvent
  }
  throw new WebhookNotAuthentic('No signature of the delivery is by this secret.')
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
  } catch {
    return new Uint8Array()
  }
}
