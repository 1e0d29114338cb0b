import { createHmac } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { Random } from '../../kernel/random.ts'

/** What every API key begins with: people and secret scanners know it by this (decisions 2). */
export const KEY_PREFIX = 'fbx_'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const RANDOM_LENGTH = 30
const CHECKSUM_LENGTH = 6

/** A fresh key: `fbx_`, 30 random base62 characters (178 bits) and 6 of checksum. Shown once, stored nowhere. */
export function newKey(random: Random): string {
  let body = ''
  while (body.length < RANDOM_LENGTH) {
    // 248 is the largest multiple of 62 in a byte: what lies above would favour some characters
    for (const byte of random.bytes(48)) if (byte < 248 && body.length < RANDOM_LENGTH) body += ALPHABET[byte % 62]
  }
  return KEY_PREFIX + body + checksum(KEY_PREFIX + body)
}

/** False for anything that cannot be a key: a typo is refused without a query. */
export function isWellFormed(key: string): boolean {
  if (key.length !== KEY_PREFIX.length + RANDOM_LENGTH + CHECKSUM_LENGTH || !key.startsWith(KEY_PREFIX)) return false
  return (
    /^[0-9A-Za-z]+$/.test(key.slice(KEY_PREFIX.length)) &&
    checksum(key.slice(0, -CHECKSUM_LENGTH)) === key.slice(-CHECKSUM_LENGTH)
  )
}

/** What is stored of a key: an HMAC under the server's pepper, so that a stolen database opens nothing. */
export function keyHash(key: string, pepper: Buffer): Buffer {
  return createHmac('sha256', pepper).update(key).digest()
}

function checksum(text: string): string {
  let value = crc32(text)
  let digits = ''
  for (let index = 0; index < CHECKSUM_LENGTH; index++) {
    digits = ALPHABET[value % 62] + digits
    value = Math.floor(value / 62)
  }
  return digits
}
