/** An event that a server delivered (Standard Webhooks). */
export interface WebhookEvent {
  /** The same in every repeat of a delivery: remember it, and take an event once. */
  readonly id: string
  /** Such as `order.completed`. */
  readonly type: string
  readonly timestamp: string
  readonly data: Readonly<Record<string, unknown>>
}

/** A delivery as it arrived. */
export interface Delivery {
  /** The text, not parsed and written again. */
  readonly body: string
  /** Of a Request, or of Node's `http`. */
  readonly headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>
  /** The `whsec_` of the endpoint. */
  readonly secret: string
  /** Milliseconds since 1970; now unless given. */
  readonly nowMs?: number
}

/** A delivery that must not be believed. Answer it with 400. */
export class WebhookNotAuthentic extends Error {
  override name = 'WebhookNotAuthentic'
}

const TOLERANCE_SECONDS = 5 * 60

/**
 * The event of a delivery, once its signature and age are checked. While a secret is rotated the delivery is signed by
 * both: either is enough. Rejects with WebhookNotAuthentic; with a TypeError when the secret is none.
 */
export async function verifyWebhook({ body, headers, secret, nowMs = Date.now() }: Delivery): Promise<WebhookEvent> {
  const header = (name: string): string => String(headerOf(headers, name) ?? '')
  const [id, timestamp] = [header('webhook-id'), header('webhook-timestamp')]
  const age = Math.abs(nowMs / 1000 - (/^\d+$/.test(timestamp) ? Number(timestamp) : Number.NaN))
  if (id === '' || !(age <= TOLERANCE_SECONDS)) throw new WebhookNotAuthentic('The delivery has no id, or is too old.')
  const secretBytes = bytesOf(secret.replace(/^whsec_/, ''))
  if (!secretBytes?.length) throw new TypeError('The secret of a webhook is base64, after "whsec_".')
  const key = await crypto.subtle.importKey('raw', secretBytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify'])
  const signed = new TextEncoder().encode(`${id}.${timestamp}.${body}`)
  for (const part of header('webhook-signature').split(' ')) {
    const [version, signature = ''] = part.split(',', 2)
    const bytes = version === 'v1' ? bytesOf(signature) : undefined
    if (bytes && (await crypto.subtle.verify('HMAC', key, bytes, signed)))
      return { ...(JSON.parse(body) as Omit<WebhookEvent, 'id'>), id }
  }
  throw new WebhookNotAuthentic('No signature of the delivery is by this secret.')
}

/** Some hosts of functions keep the names as they were sent, and the Headers of some libraries are not the global ones. */
function headerOf(headers: Delivery['headers'], name: string): unknown {
  if (typeof headers.get === 'function') return headers.get(name)
  return Object.entries(headers).find(([given]) => given.toLowerCase() === name)?.[1]
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
  } catch {
    return undefined
  }
}
