import { expect, test } from 'vitest'
import { deviceName } from './device-name.ts'

test('a session names its browser and system, and a program itself', () => {
  const like = (rest: string) => `Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) ${rest}`
  expect(deviceName(like('HeadlessChrome/153.0.0.0 Safari/537.36'))).toBe('Chrome on Linux')
  expect(deviceName(like('Chrome/153.0.0.0 Safari/537.36 Edg/153.0.0.0'))).toBe('Edge on Linux')
  expect(deviceName('Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) Version/19.0 Safari/604.1')).toBe(
    'Safari on iOS',
  )
  expect(deviceName('farebox on build-machine')).toBe('farebox on build-machine')
  expect(deviceName('')).toBe('Unknown')
})
