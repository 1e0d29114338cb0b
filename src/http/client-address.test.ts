import { expect, test } from 'vitest'
import { clientAddress, clientNetwork } from './client-address.ts'

const counted = (ip: string | undefined, peer: string | undefined): string =>
  clientAddress({ ip, socket: { remoteAddress: peer } } as Parameters<typeof clientAddress>[0])

test.each([
  ['203.0.113.7', '203.0.113.7'],
  ['203.0.113.7:52100', '203.0.113.7'],
  ['::ffff:203.0.113.7', '203.0.113.7'],
  ['::ffff:cb00:7107', '203.0.113.7'],
  ['0:0:0:0:0:FFFF:203.0.113.7', '203.0.113.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:DB8:1:2::9', '2001:db8:1:2::/64'],
  ['[2001:db8:1:2::9]:443', '2001:db8:1:2::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['64:ff9b::203.0.113.7', '64:ff9b:0:0::/64'],
])('the address %s is counted as %s', (text, group) => {
  expect(counted(text, '192.0.2.1')).toBe(group)
})

test.each(['', 'unknown', '_hidden', '1.2.3', '1.2.3.4.5', ':::', '1.2.3.4:x'])(
  'where a proxy names no address (%s) it is itself the client',
  (text) => {
    expect(counted(text, '::ffff:192.0.2.1')).toBe('192.0.2.1')
  },
)

test('clients of a unix socket are one client', () => {
  expect(counted(undefined, undefined)).toBe('local')
})

test.each([
  ['203.0.113.7', '203.0.113.0/24'],
  ['2001:db8:1:2:3::4', '2001:db8:1::/48'],
  ['::ffff:203.0.113.7', '203.0.113.0/24'],
])('what people see of %s is its network, %s', (ip, network) => {
  expect(clientNetwork({ ip, socket: {} } as Parameters<typeof clientNetwork>[0])).toBe(network)
})
