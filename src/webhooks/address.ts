import { isIP } from 'node:net'
import { Fault } from '../kernel/errors.ts'
import { addressRule } from '../net/addresses.ts'

/** Which addresses webhooks may go to. */
export interface AddressSettings {
  /** Networks that may be called although they are not public. */
  readonly allowedNetworks: readonly string[]
  /** Whether plain http:// is taken: in development, and where an operator opened networks of its own. */
  readonly plainHttp: boolean
}

const URL_LENGTH_MAX = 2048

/**
 * The URL as it is kept, when it may be called as far as that can be told without looking its name up: what a name leads
 * to is judged at every delivery. Refuses with `invalid_field` in the caller's words for the field.
 */
export function checkedWebhookUrl(
  text: string,
  { allowedNetworks, plainHttp }: AddressSettings,
  field: string,
): string {
  const refuse = (message: string): never => {
    throw new Fault('invalid_field', { message: `The field ${field} ${message}`, fields: { field } })
  }
  if (text.length > URL_LENGTH_MAX) return refuse(`must have at most ${URL_LENGTH_MAX} characters.`)
  if (!URL.canParse(text)) return refuse('must be a URL.')
  const url = new URL(text)
  if (url.protocol !== 'https:' && !(plainHttp && url.protocol === 'http:')) return refuse('must be an https:// URL.')
  if (url.username !== '' || url.password !== '') return refuse('must not contain a user or password.')
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const named = /(^|\.)localhost\.?$/.test(host) ? '127.0.0.1' : host
  if (isIP(named) !== 0 && !addressRule(allowedNetworks).allows(named))
    return refuse('must lead to the public internet.')
  url.hash = ''
  return url.href
}
