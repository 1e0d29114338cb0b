import { describe, expect, test } from 'vitest'
import type { Findings } from './measure.ts'
import { goalLine, judge, markdown } from './report.ts'
import type { Scenario } from './scenario.ts'
import { scenarios } from './scenarios.ts'
import { median, percentile, spread } from './statistics.ts'
import { chunkText, requestBody, STREAM_CHUNKS, streamText } from './workload.ts'

describe('statistics', () => {
  test('the median is the middle value, and of an even number the mean of the middle two', () => {
    expect(median([3, 1, 2])).toBe(2)
    expect(median([4, 1, 3, 2])).toBe(2.5)
    expect(() => median([])).toThrow(RangeError)
  })

  test('a percentile lies between its neighbours and never outside the values', () => {
    const values = Array.from({ length: 101 }, (_, n) => n)
    expect(percentile(values, 99)).toBe(99)
    expect(percentile([1, 2], 99)).toBeCloseTo(1.99)
    expect([percentile(values, 0), percentile(values, 100)]).toEqual([0, 100])
  })

  test('a spread leaves its values in their order', () => {
    const values = [10, 9, 100]
    expect(spread(values)).toEqual({ min: 9, median: 10, max: 100 })
    expect(values).toEqual([10, 9, 100])
    expect(spread([])).toBeUndefined()
  })
})

/** A scenario of the table with rounds of calls per second, as [farebox, bare, portkey]. */
function judged(name: string, rounds: ReadonlyArray<Record<string, Record<string, number>>>) {
  const scenario = scenarios.find((candidate) => candidate.name === name) as Scenario
  const findings: Findings = { rounds, unavailable: {}, notAnswered: {}, charges: {} }
  return judge(scenario, findings)
}

const calls = (farebox: number, bare: number, portkey?: number) => ({
  farebox: { 'calls/s': farebox },
  bare: { 'calls/s': bare },
  ...(portkey !== undefined && { portkey: { 'calls/s': portkey } }),
})

describe('a goal', () => {
  test('compares sides inside a round, so that a slow hour falls out', () => {
    const [ratio] = judged('plain-0ms', [calls(400, 1000), calls(40, 100), calls(4, 10)]).goals
    expect(ratio).toMatchObject({ measured: { min: 0.4, median: 0.4, max: 0.4 }, met: true })
  })

  test('is missed at the median, whatever the best round reached', () => {
    const [ratio, , rate] = judged('plain-0ms', [calls(29, 100), calls(90, 100), calls(29, 100)]).goals
    expect(ratio?.met).toBe(false)
    expect(rate?.met).toBe(false)
  })

  test('is missed by one lost frame in any round', () => {
    const round = (broken: number) => ({ farebox: { 'broken streams': broken, 'RSS MB': 200 } })
    const [frames, memory] = judged('streams-256', [round(0), round(1), round(0)]).goals
    expect([frames?.met, memory?.met]).toEqual([false, true])
  })

  test('that lacks a side is neither met nor missed', () => {
    const [, portkey] = judged('plain-0ms', [calls(400, 1000)]).goals
    expect(portkey).toMatchObject({ measured: undefined, met: undefined })
    expect(portkey && goalLine(portkey)).toContain('not measured')
  })
})

test('the report shows goals, wrong charges and what was left out', () => {
  const scenario = judged('plain-0ms', [calls(400, 1000)])
  const charge = {
    received: 2,
    answered: 3,
    captured: 2,
    open: 0,
    chargedMicro: '160',
    expectedMicro: '160',
    findings: ['bucket_held: bucket 1 should be 0 and is 5'],
    exact: false,
  }
  const text = markdown({
    date: '2026-01-02',
    commit: 'abc',
    changed: true,
    machine: { cores: '2' },
    loadTool: 'wrk',
    settings: { rounds: 1, seconds: 1, warmUpSeconds: 1, rows: 10 },
    scenarios: [{ ...scenario, charges: { farebox: charge }, unavailable: { portkey: 'no | network' } }],
  })
  expect(text).toContain('# Benchmark of 2026-01-02, commit abc with changes')
  expect(text).toContain('| plain-0ms | billed / bare unbilled proxy | ≥ 0.3 | 0.400 / 0.400 / 0.400 | yes |')
  expect(text).toContain('| billed / Portkey unbilled | ≥ 3 | - | not measured |')
  expect(text).toContain('bucket 1 should be 0 and is 5 | **no** |')
  expect(text).toContain('portkey was not measured: no | network')
})

test('every scenario has a goal or is there to be read, and every goal names a side that is measured', () => {
  for (const scenario of scenarios) {
    const metrics = Object.fromEntries(scenario.columns.map((column) => [column, 1]))
    const round = Object.fromEntries(scenario.contenders.map(({ name }) => [name, metrics]))
    for (const goal of scenario.goals) expect(goal.value(round), goal.what).toBeTypeOf('number')
  }
})

test('a stream that lacks any chunk has another text', () => {
  const chunks = Array.from({ length: STREAM_CHUNKS }, (_, n) => chunkText(n))
  for (let n = 0; n < STREAM_CHUNKS; n += 1) expect(chunks.toSpliced(n, 1).join('')).not.toBe(streamText)
  expect(JSON.parse(requestBody('m', true))).toMatchObject({ stream: true })
})
