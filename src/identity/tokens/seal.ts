import {
  createCipheriv,
  createDecipheriv,
  createPrivateKey,
  createPublicKey,
  hkdfSync,
  type KeyObject,
} from 'node:crypto'
import type { Random } from '../../kernel/random.ts'

const CIPHER = 'aes-256-gcm'
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
/** Sets this use of the pepper apart from the hashing of API keys: neither helps to find the other. */
const LABEL = 'farebox signing keys v1'
/** What stands before the 32 bytes of seed in the PKCS #8 form of an Ed25519 key (RFC 8410). */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex')

/** Length of an Ed25519 seed. */
export const SEED_BYTES = 32

/** The two halves of a signing key, ready for use. */
export interface KeyPair {
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
}

/** The key under which seeds are sealed at rest, derived from the server's pepper; another label is another key. */
export function sealingKey(pepper: Buffer, label = LABEL): Buffer {
  return Buffer.from(hkdfSync('sha256', pepper, Buffer.alloc(0), label, KEY_BYTES))
}

/** Seals 32 bytes for storage: nonce, ciphertext, tag. The kid is bound in, so that rows cannot be swapped. */
export function seal(seed: Buffer, { key, kid, random }: { key: Buffer; kid: string; random: Random }): Buffer {
  const nonce = random.bytes(NONCE_BYTES)
  const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(kid))
  return Buffer.concat([nonce, cipher.update(seed), cipher.final(), cipher.getAuthTag()])
}

/** The seed of a stored row; undefined when it was sealed under another pepper, or altered. */
export function unseal(sealed: Buffer, { key, kid }: { key: Buffer; kid: string }): Buffer | undefined {
  if (sealed.length !== NONCE_BYTES + SEED_BYTES + TAG_BYTES) return undefined
  const decipher = createDecipheriv(CIPHER, key, sealed.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  })
    .setAAD(Buffer.from(kid))
    .setAuthTag(sealed.subarray(-TAG_BYTES))
  try {
    return Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()])
  } catch {
    return undefined
  }
}

/** The Ed25519 key pair of a seed. */
export function keyPairOf(seed: Buffer): KeyPair {
  const privateKey = createPrivateKey({
    key: Buffer.concat([PKCS8_PREFIX, seed]),
    format: 'der',
    type: 'pkcs8',
  })
  return { privateKey, publicKey: createPublicKey(privateKey) }
}
