import { createHash } from 'node:crypto'
import type { Random } from '../../kernel/random.ts'

const PREFIX = 'inv_'
/** Crockford's base 32: no letter that reads like a digit. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'
const RANDOM_LENGTH = 26

/** A fresh invitation code: `inv_` and 26 characters (130 bits). Shown once, stored nowhere. */
export function newInvitationCode(random: Random): string {
  const digits = [...random.bytes(RANDOM_LENGTH)].map((byte) => ALPHABET[byte % ALPHABET.length])
  return PREFIX + digits.join('')
}

/** What is stored of a code, and looked up. Codes travel by mail and voice: case and blanks around them do not count. */
export function invitationHash(code: string): Buffer {
  return createHash('sha256').update(code.trim().toLowerCase()).digest()
}
