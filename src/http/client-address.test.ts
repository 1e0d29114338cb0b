import { expect, test } from 'vitest'
import { grouped } from './client-address.ts'

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
  expect(grouped(text)).toBe(group)
})

test.each(['', 'unknown', '_hidden', '1.2.3', '1.2.3.4.5', ':::', '1.2.3.4:x', undefined])('what names no address (%s) counts as none', (text) => {
  expect(grouped(text)).toBeUndefined()
})
