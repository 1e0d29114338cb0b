import { isIP } from 'node:net'
import { creditsFromText, type Microcredits } from '../kernel/money.ts'

/** Turns the text of an environment variable into its value. */
export interface Parser<T> {
  /** What it accepts, to follow "takes". */
  readonly takes: string
  /** The value, or undefined when the text is not one. */
  parse(text: string): T | undefined
}

/** Any text without control characters. */
export const text: Parser<string> = {
  takes: 'a text',
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
  parse: (value) => (/[\u0000-\u001f]/.test(value) ? undefined : value),
}

/** A whole number between two bounds, both included. */
export function wholeNumber({ minimum, maximum }: { minimum: number; maximum: number }): Parser<number> {
  return {
    takes: `a whole number from ${minimum} to ${maximum}`,
    parse: (value) => {
      const number = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN
      return number >= minimum && number <= maximum ? number : undefined
    },
  }
}

/** Credits as a person writes them. */
export const creditsAmount: Parser<Microcredits> = {
  takes: 'Credits as a plain decimal with at most six places, such as 100',
  parse: (value) => creditsFromText(value),
}

/** One of the words given. */
export function oneOf<const T extends string>(words: readonly T[]): Parser<T> {
  return {
    takes: `one of ${words.join(', ')}`,
    parse: (value) => words.find((word) => word === value),
  }
}

/** The address that clients use, without a trailing slash: http or https, no credentials, query or fragment. */
export const publicAddress: Parser<string> = {
  takes: 'an http:// or https:// address without user, query or fragment',
  parse: (value) => {
    const url = URL.canParse(value) ? new URL(value) : undefined
    return url && isPlainHttp(url) ? url.href.replace(/\/+$/, '') : undefined
  },
}

/** Whether an address is http or https and carries nothing that could be a secret. */
export function isPlainHttp(url: URL): boolean {
  const http = url.protocol === 'http:' || url.protocol === 'https:'
  return http && url.username === '' && url.password === '' && url.search === '' && url.hash === ''
}

/** Whether `host` is this machine and nothing else: a server there is reached by nobody from outside. */
export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[(.*)\]$/, '$1')
  return bare === 'localhost' || bare === '::1' || (isIP(bare) === 4 && bare.startsWith('127.'))
}

/** A PostgreSQL connection string. */
export const postgresAddress: Parser<string> = {
  takes: 'a postgres:// or postgresql:// address',
  parse: (value) => (/^postgres(ql)?:\/\/\S+$/.test(value) && URL.canParse(value) ? value : undefined),
}

/** Networks such as `10.0.0.0/8, ::1`; a bare address means exactly that address. */
export const networks: Parser<readonly string[]> = {
  takes: 'networks in CIDR notation, separated by commas',
  parse: (value) => {
    const list = value.split(',').map((network) => network.trim())
    return list.every(isNetwork) ? list : undefined
  },
}

function isNetwork(network: string): boolean {
  const [address = '', prefix, ...rest] = network.split('/')
  const family = isIP(address)
  if (family === 0 || rest.length > 0) return false
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (family === 4 ? 32 : 128))
}

/** The fewest bytes of a secret that keys an HMAC: as many as its hash has. */
const SECRET_BYTES_MIN = 32

/** Random bytes as hex, base64 or base64url. What can be read as hex is hex, so that a short hex secret never passes as a longer base64 one. */
export const secretBytes: Parser<Buffer> = {
  takes: `at least ${SECRET_BYTES_MIN} random bytes as hex or base64, for example from \`openssl rand -hex 32\``,
  parse: (value) => {
    const encoding = /^[0-9a-f]+$/i.test(value) ? 'hex' : 'base64'
    const wellFormed = encoding === 'hex' ? value.length % 2 === 0 : /^[\w+/-]+={0,2}$/.test(value)
    const bytes = wellFormed ? Buffer.from(value, encoding) : Buffer.alloc(0)
    return bytes.length >= SECRET_BYTES_MIN ? bytes : undefined
  },
}

/** A name that is safe in logs and in database session names: letters, digits, dot, dash, underscore; at most 63. */
export const processName: Parser<string> = {
  takes: 'up to 63 letters, digits, dots, dashes and underscores',
  parse: (value) => (/^[A-Za-z0-9._-]{1,63}$/.test(value) ? value : undefined),
}

/** A private key of an account on a chain: 32 bytes as hex, given back with 0x. */
export const privateKey: Parser<string> = {
  takes: '32 bytes as hex, with or without 0x',
  parse: (value) => (/^(0x)?[0-9a-fA-F]{64}$/.test(value) ? `0x${value.slice(-64).toLowerCase()}` : undefined),
}
