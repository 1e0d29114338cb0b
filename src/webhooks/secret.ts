import { Webhook } from 'standardwebhooks'
import { SEED_BYTES, seal, sealingKey, unseal } from '../identity/tokens/seal.ts'
import type { Random } from '../kernel/random.ts'

/** What every webhook secret begins with (Standard Webhooks). */
const SECRET_PREFIX = 'whsec_'
const LABEL = 'farebox webhook secrets v1'

/**
 * Secrets of webhooks. Signing needs the secret itself, so it is not hashed but sealed (AES-256-GCM) under a key derived
 * from the server's pepper: the database alone signs nothing.
 */
export interface SecretBox {
  /** A fresh secret, to be shown once, and its sealed form, bound to the account. */
  create(accountId: bigint): { readonly secret: string; readonly sealed: Buffer }
  /** The secret; undefined when it was sealed under another pepper, for another account, or altered. */
  open(sealed: Buffer, accountId: bigint): string | undefined
}

/** Opens the box with the server's pepper. */
export function secretBox({ pepper, random }: { pepper: Buffer; random: Random }): SecretBox {
  const key = sealingKey(pepper, LABEL)
  const kid = (accountId: bigint): string => `account ${accountId}`
  const written = (bytes: Buffer): string => SECRET_PREFIX + bytes.toString('base64')
  return {
    create(accountId) {
      const bytes = random.bytes(SEED_BYTES)
      return { secret: written(bytes), sealed: seal(bytes, { key, kid: kid(accountId), random }) }
    },
    open(sealed, accountId) {
      const bytes = unseal(sealed, { key, kid: kid(accountId) })
      return bytes && written(bytes)
    },
  }
}

/** The three headers of Standard Webhooks; during a rotation one signature for each secret, divided by spaces. */
export function signatureHeaders(message: {
  readonly id: string
  readonly at: Date
  readonly body: string
  readonly secrets: readonly string[]
}): Record<string, string> {
  const { id, at, body, secrets } = message
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': secrets.map((secret) => new Webhook(secret).sign(id, at, body)).join(' '),
  }
}

/** The `webhook-id` of an event: the same at every attempt, replay and endpoint, so that receivers know repeats. */
export const webhookId = (eventId: bigint): string => `evt_${eventId}`
