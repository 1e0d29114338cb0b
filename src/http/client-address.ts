import { isIP } from 'node:net'
import type { FastifyRequest } from 'fastify'

/**
 * Whom a rate limit by address counts: the IPv4 address, or the IPv6 network of 64 bits, which one customer
 * has to himself. Proxies are believed as FAREBOX_TRUSTED_PROXIES says; where one names no address, it is itself
 * the client. `local` for a unix socket.
 */
export function clientAddress(request: Pick<FastifyRequest, 'ip' | 'socket'>): string {
  return grouped(request.ip) ?? grouped(request.socket.remoteAddress) ?? 'local'
}

/** Where a client is, for people to recognise and for nobody to trace: the /24 of IPv4, the /48 of IPv6. */
export function clientNetwork(request: Pick<FastifyRequest, 'ip' | 'socket'>): string {
  const address = clientAddress(request)
  if (isIP(address) === 4) return address.replace(/\d+$/, '0/24')
  return address.replace(/^((?:[0-9a-f]+:){2}[0-9a-f]+):.*$/, '$1::/48')
}

/** The address or network that a text names, in one spelling; undefined when it names none. */
function grouped(text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  if (isIP(text) === 4) return text
  const bare = withoutPort(text)
  const version = isIP(bare)
  if (version === 4) return bare
  if (version !== 6) return undefined
  const hextets = expanded(bare)
  const mapped = hextets.slice(0, 5).every((part) => part === 0) && hextets[5] === 0xffff
  if (mapped) return [hextets[6], hextets[7]].flatMap((part = 0) => [part >> 8, part & 0xff]).join('.')
  return `${hextets
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':')}::/64`
}

/** Some proxies write `1.2.3.4:5678` and `[2001:db8::1]:5678`. A zone (`%eth0`) says nothing to others. */
function withoutPort(text: string): string {
  const bracketed = /^\[([^\]]+)\](?::\d+)?$/.exec(text)?.[1]
  const host = bracketed ?? /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(text)?.[1] ?? text
  return host.replace(/%.*$/, '')
}

/** The eight groups of an IPv6 address that isIP has accepted. */
function expanded(address: string): number[] {
  const dotted = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(address)
  const hextet = (high = '', low = ''): string => (Number(high) * 256 + Number(low)).toString(16)
  const whole = dotted ? `${dotted[1]}${hextet(dotted[2], dotted[3])}:${hextet(dotted[4], dotted[5])}` : address
  const [before = '', after] = whole.split('::')
  const parts = (text: string): number[] =>
    text
      .split(':')
      .filter((part) => part !== '')
      .map((part) => Number.parseInt(part, 16))
  if (after === undefined) return parts(before)
  const [head, tail] = [parts(before), parts(after)]
  return [...head, ...Array.from({ length: 8 - head.length - tail.length }, () => 0), ...tail]
}
