import { useRef } from 'react'

/** A key for Idempotency-Key: random, also where the page came without TLS, which has no randomUUID. */
export const newKey = (): string => crypto.getRandomValues(new BigUint64Array(2)).join('-')

/** The key of what is sent. It stays the same until the answer is there: whoever clicks again after a failure pays once. */
export function useRepeatKey(): { of(body: unknown): string; answered(): void } {
  const sent = useRef({ text: '', key: '' })
  return {
    of(body) {
      const text = JSON.stringify(body)
      if (sent.current.text !== text) sent.current = { text, key: newKey() }
      return sent.current.key
    },
    answered() {
      sent.current = { text: '', key: '' }
    },
  }
}
