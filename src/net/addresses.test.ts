import { expect, test } from 'vitest'
import { addressRule } from './addresses.ts'

const strict = addressRule([])

test.each([
  ...['127.0.0.1', '127.255.255.254', '0.0.0.0', '0.1.2.3', '10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1'],
  ...['169.254.169.254', '100.64.0.1', '100.100.100.200', '192.0.0.192', '198.18.0.1', '224.0.0.1', '255.255.255.255'],
  ...[
    '::',
    '::1',
    'fe80::1',
    'fe80::1%eth0',
    'fc00::1',
    'fd00:ec2::254',
    'ff02::1',
    '2001:db8::1',
    '2001::1',
    '3fff::1',
  ],
  ...[
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '0:0:0:0:0:ffff:a9fe:a9fe',
    '::127.0.0.1',
    '64:ff9b::7f00:1',
    '2002:7f00:1::',
  ],
  ...['', 'localhost', '1.2.3', '[::1]', '8.8.8.8.example'],
])('%s is not public', (address) => {
  expect(strict.allows(address)).toBe(false)
})

test.each([
  ...['1.1.1.1', '8.8.8.8', '172.15.255.255', '172.32.0.1', '100.63.255.255', '100.128.0.1', '192.169.0.1'],
  ...['2606:4700:4700::1111', '2a00:1450:4001::1', '::ffff:8.8.8.8'],
])('%s is public', (address) => {
  expect(strict.allows(address)).toBe(true)
})

test('an allowed network opens itself, however its addresses are written, and nothing beside it', () => {
  const rule = addressRule(['127.0.0.0/8', '::1/128', 'fd12::/16'])
  expect(['127.0.0.1', '::ffff:127.0.0.1', '::1', 'fd12::5', '8.8.8.8'].map(rule.allows)).toEqual(Array(5).fill(true))
  expect(['10.0.0.1', 'fd13::5', '::2', '169.254.169.254'].map(rule.allows)).toEqual(Array(4).fill(false))
})

test('text that is no network is refused', () => {
  for (const text of ['internal', '10.0.0.0', '10.0.0.0/33', '::/129', 'x/8', '10.0.0.0/8/8', '10.0.0.0/ 8', ''])
    expect(() => addressRule([text]), text).toThrow(TypeError)
})
