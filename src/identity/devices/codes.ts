import { createHash } from 'node:crypto'
import type { Random } from '../../kernel/random.ts'

/** Consonants only, so that no word comes out, and none that reads like a digit (RFC 8628, 6.1). */
const ALPHABET = 'BCDFGHJKLMNPQRSTVWXZ'
const USER_CODE_LENGTH = 8
const DEVICE_CODE_BYTES = 32
/** The largest multiple of the alphabet's length in a byte: bytes above it would favour some letters. */
const FAIR_BYTES = 240

/** A fresh device code: `dvc_` and 256 bits. The program keeps it; here only its hash is. */
export const newDeviceCode = (random: Random): string => `dvc_${random.bytes(DEVICE_CODE_BYTES).toString('base64url')}`

/** What is stored of a device code, and looked up. */
export const deviceCodeHash = (code: string): Buffer => createHash('sha256').update(code).digest()

/** A fresh user code: eight letters out of twenty, which are 34 bits for 10 minutes. */
export function newUserCode(random: Random): string {
  let code = ''
  while (code.length < USER_CODE_LENGTH)
    for (const byte of random.bytes(USER_CODE_LENGTH))
      if (byte < FAIR_BYTES && code.length < USER_CODE_LENGTH) code += ALPHABET[byte % ALPHABET.length]
  return code
}

/** The code that somebody typed: case, dashes and blanks do not count. undefined when it cannot be one. */
export function userCodeFrom(typed: string): string | undefined {
  const code = typed.replace(/[^a-z]/gi, '').toUpperCase()
  return /^[BCDFGHJKLMNPQRSTVWXZ]{8}$/.test(code) ? code : undefined
}

/** The code as people read it: `BCDF-GHJK`. */
export const shownUserCode = (code: string): string => `${code.slice(0, 4)}-${code.slice(4)}`
