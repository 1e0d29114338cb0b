import type { Term } from './store.ts'

const WORDS_MAX = 8

/**
 * What somebody typed to find an account: an id, the beginning of a wallet or e-mail address, or the beginnings of words
 * of a label. It may be several of these at once. undefined when nothing was typed.
 */
export function readTerm(typed: string): Term | undefined {
  const text = typed.trim().toLowerCase()
  if (text === '') return undefined
  const words = text.match(/[\p{L}\p{N}]+/gu)?.slice(0, WORDS_MAX) ?? []
  return {
    id: /^\d{1,15}$/.test(text) ? BigInt(text) : undefined,
    wallet: /^0x[0-9a-f]{1,40}$/.test(text) ? text : undefined,
    email: /^[^\s]+$/.test(text) ? text : undefined,
    words,
  }
}
