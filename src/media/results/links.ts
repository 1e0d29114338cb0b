import { createHmac, timingSafeEqual } from 'node:crypto'
import { type ObjectName, objectName } from '../../storage/object-store.ts'

/** Links to kept files: whoever has one may open it until it expires, and nobody can make one. */
export interface ResultLinks {
  /** The link to a key of the store, good until then. */
  urlOf(key: string, until: Date): string
  /** The name that a link stands for; `expired` once its time is over, undefined when it is not ours. */
  nameOf(
    key: string,
    link: { readonly expires: number; readonly signature: string },
  ): ObjectName | 'expired' | undefined
  /** A name for a file that nobody can guess and that is the same for the same text. */
  secretName(text: string): string
}

/** Links under `publicUrl`, signed with the server's pepper: every process makes and knows the same ones. */
export function resultLinks(options: {
  readonly pepper: Buffer
  readonly publicUrl: () => string
  readonly now: () => Date
}): ResultLinks {
  const digest = (text: string): string => createHmac('sha256', options.pepper).update(text).digest('hex')
  const signatureOf = (key: string, expires: number): string => digest(`result ${key} until ${expires}`)
  return {
    urlOf(key, until) {
      const expires = Math.floor(until.getTime() / 1000)
      return `${options.publicUrl()}/v1/results/${key}?expires=${expires}&signature=${signatureOf(key, expires)}`
    },
    nameOf(key, { expires, signature }) {
      const name = objectName(key)
      const right = Buffer.from(signatureOf(key, expires))
      const given = Buffer.from(signature)
      if (!name || given.length !== right.length || !timingSafeEqual(given, right)) return undefined
      return expires * 1000 <= options.now().getTime() ? 'expired' : name
    },
    secretName: (text) => digest(`name of result ${text}`).slice(0, 40),
  }
}
