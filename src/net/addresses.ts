import { BlockList, isIP, isIPv4 } from 'node:net'

/** Decides which addresses a request that a stranger asked for may go to. */
export interface AddressRule {
  /** Whether `address`, an IPv4 or IPv6 address without brackets, may be connected to. Text that is no address may not. */
  allows(address: string): boolean
}

/** What IANA's registries list as not globally reachable, with multicast and the reserved rest. */
const REFUSED_IPV4 = [
  '0.0.0.0/8', // this network
  '10.0.0.0/8', // private
  '100.64.0.0/10', // shared by carrier-grade NAT; some clouds keep metadata here
  '127.0.0.0/8', // loopback
  '169.254.0.0/16', // link-local, with the metadata services of most clouds
  '172.16.0.0/12', // private
  '192.0.0.0/24', // protocol assignments
  '192.0.2.0/24', // documentation
  '192.88.99.0/24', // 6to4 relays
  '192.168.0.0/16', // private
  '198.18.0.0/15', // benchmarks
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved and broadcast
]

/** IPv6 is the other way round: only global unicast is reachable, so mapped, local and NAT64 addresses are outside. */
const GLOBAL_IPV6 = ['2000::/3']

/** Parts of it that carry an IPv4 address inside, or lead nowhere. */
const REFUSED_IPV6 = [
  '2001::/23', // protocol assignments, Teredo among them
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4
  '3fff::/20', // documentation
]

/**
 * Only addresses of the public internet, and what lies in `allowedNetworks` (CIDR, such as `127.0.0.0/8`).
 * An IPv4 address written as IPv6 (`::ffff:10.0.0.1`) is judged as the IPv4 address. Throws TypeError on text that
 * is no network.
 */
export function addressRule(allowedNetworks: readonly string[]): AddressRule {
  const allowed = listOf(allowedNetworks)
  const refused = listOf([...REFUSED_IPV4, ...REFUSED_IPV6])
  const global = listOf(GLOBAL_IPV6)
  return {
    allows(address) {
      const bare = unmapped(address)
      if (isIP(bare) === 0) return false
      const family = isIPv4(bare) ? 'ipv4' : 'ipv6'
      if (allowed.check(bare, family)) return true
      return !refused.check(bare, family) && (family === 'ipv4' || global.check(bare, family))
    },
  }
}

/** Whether text is a network in CIDR form: `10.0.0.0/8`, `fd00::/8`. */
function isNetwork(text: string): boolean {
  const [address = '', prefix = '', ...rest] = text.split('/')
  const family = isIP(address)
  return family !== 0 && rest.length === 0 && /^\d{1,3}$/.test(prefix) && Number(prefix) <= (family === 4 ? 32 : 128)
}

function listOf(networks: readonly string[]): BlockList {
  const list = new BlockList()
  for (const network of networks) {
    if (!isNetwork(network)) throw new TypeError(`${network} is no network such as 10.0.0.0/8`)
    const [address = '', prefix = ''] = network.split('/')
    list.addSubnet(address, Number(prefix), isIPv4(address) ? 'ipv4' : 'ipv6')
  }
  return list
}

/** `::ffff:10.0.0.1` and `::ffff:a00:1` as `10.0.0.1`; every other address as it is, without its zone. */
function unmapped(address: string): string {
  const bare = address.replace(/%.*$/, '')
  if (isIP(bare) !== 6) return bare
  // The URL parser writes every IPv6 address in one way, so one pattern finds all spellings.
  const normal = new URL(`http://[${bare}]/`).hostname.slice(1, -1)
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(normal)
  if (!mapped) return normal
  const [high, low] = [Number.parseInt(mapped[1] ?? '', 16), Number.parseInt(mapped[2] ?? '', 16)]
  return [high >> 8, high & 255, low >> 8, low & 255].join('.')
}
