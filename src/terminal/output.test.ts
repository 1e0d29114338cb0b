import { expect, test, vi } from 'vitest'
import { systemClock } from '../kernel/clock.ts'
import { parseCredits, parseExpiry } from './options.ts'
import { age, amount, fields, print, table } from './output.ts'
import { withProgress } from './progress.ts'

test('columns are aligned, numbers on the right, and no line ends in spaces', () => {
  expect(
    table(
      ['NAME', 'N', 'NOTE'],
      [
        ['a', '1', ''],
        ['longer', '100', 'x'],
      ],
      ['N'],
    ),
  ).toBe('NAME      N  NOTE\na         1\nlonger  100  x')
  expect(
    fields([
      ['a', '1'],
      ['longer', '2'],
      ['gone', null],
    ]),
  ).toBe('a       1\nlonger  2')
})

test('amounts carry both units, ages their largest', () => {
  expect(amount(1_500_000n)).toBe('1.5 Credits (1500000 micro)')
  expect([5, 119, 120, 7199, 7200, 172_799, 172_800].map(age)).toEqual([
    '5 s',
    '119 s',
    '2 min',
    '119 min',
    '2 h',
    '47 h',
    '2 d',
  ])
})

test('an amount that JSON cannot carry exactly is refused instead of rounded', () => {
  const write = () => undefined
  expect(() => print({ write }, { json: true }, { data: { micro: 2n ** 53n }, text: '' })).toThrow(RangeError)
})

test('an expiry is a span, a day or a time, to the second; Credits are exact', () => {
  const clock = { ...systemClock, now: () => new Date('2026-01-01T00:00:00Z') }
  const parse = parseExpiry(clock)
  expect(['2d', '36h', '2026-02-01', '2026-02-01T01:00:00+01:00'].map((text) => parse(text).toISOString())).toEqual([
    '2026-01-03T00:00:00.000Z',
    '2026-01-02T12:00:00.000Z',
    '2026-02-01T00:00:00.000Z',
    '2026-02-01T00:00:00.000Z',
  ])
  for (const text of ['', '0d', 'tomorrow', '2026-02-30', '2026-01-01', '2026-13-01', '1735689600'])
    expect(() => parse(text), text).toThrow(/It takes|passed/)
  expect(parseCredits('0.000001')).toBe(1n)
})

test('work that takes longer than a second is seen to be running, on stderr, and then at every doubling', async () => {
  vi.useFakeTimers()
  try {
    let seen = ''
    let end = (): void => undefined
    const work = withProgress(
      { writeError: (text) => (seen += text) },
      'counting',
      () => new Promise<void>((resolve) => (end = resolve)),
    )
    await vi.advanceTimersByTimeAsync(999)
    expect(seen).toBe('')
    await vi.advanceTimersByTimeAsync(1)
    expect(seen).toBe('… counting (1 s)\n')
    await vi.advanceTimersByTimeAsync(3_000)
    expect(seen).toBe('… counting (1 s)\n… counting (2 s)\n… counting (4 s)\n')
    end()
    await work
    await vi.advanceTimersByTimeAsync(60_000)
    expect(seen.split('\n')).toHaveLength(4)
  } finally {
    vi.useRealTimers()
  }
})
