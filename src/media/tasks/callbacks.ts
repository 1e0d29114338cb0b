import { createHmac, timingSafeEqual } from 'node:crypto'

/** Addresses to which places report the end of an attempt. Nobody can guess one, and a guess costs no query. */
export interface CallbackAddresses {
  urlOf(attemptId: string): string
  /** The attempt that a token stands for; undefined when the token is not ours. */
  attemptOf(token: string): string | undefined
}

const TOKEN = /^([0-9a-f]{32})([0-9a-f]{32})$/

/** Addresses under `publicUrl`, signed with the server's pepper: a restart does not change them. */
export function callbackAddresses(options: {
  readonly pepper: Buffer
  readonly publicUrl: () => string
}): CallbackAddresses {
  const signature = (digits: string): string =>
    createHmac('sha256', options.pepper).update(`callback of attempt ${digits}`).digest('hex').slice(0, 32)
  return {
    urlOf(attemptId) {
      const digits = attemptId.replaceAll('-', '')
      return `${options.publicUrl()}/v1/callbacks/${digits}${signature(digits)}`
    },
    attemptOf(token) {
      const [, digits, signed] = TOKEN.exec(token) ?? []
      if (digits === undefined || signed === undefined) return undefined
      if (!timingSafeEqual(Buffer.from(signature(digits)), Buffer.from(signed))) return undefined
      return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
    },
  }
}
