import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type TestChain, testChain, word } from '../../../../test/chain.ts'
import { freshDatabase, type TestDatabase } from '../../../../test/database.ts'
import { type LyingNode, lyingNode } from '../../../../test/lying-node.ts'
import { openEvmChain } from '../../../chains/evm.ts'
import type { RateConfig } from '../../../config/axon.ts'
import { systemClock } from '../../../kernel/clock.ts'
import { readHttpSource } from './http-source.ts'
import { median } from './median.ts'
import { openRates } from './service.ts'
import { openRateSource } from './source.ts'

const USD = 10n ** 18n
let chain: TestChain
let node: LyingNode
let database: TestDatabase
let sources: Server
let base: string
/** What the source of this path answers. */
const answers = new Map<string, (response: ServerResponse) => void>()

beforeAll(async () => {
  ;[chain, database] = await Promise.all([testChain(), freshDatabase()])
  node = await lyingNode(chain.rpcUrl)
  sources = createServer((request, response) => {
    const answer = answers.get(request.url ?? '')
    if (answer) answer(response)
    else response.writeHead(404).end()
  })
  await new Promise<void>((resolve) => sources.listen(0, '127.0.0.1', resolve))
  base = `http://127.0.0.1:${(sources.address() as AddressInfo).port}`
})
beforeEach(() => answers.clear())
afterAll(async () => {
  sources.closeAllConnections()
  sources.close()
  await node.stop()
  await chain.stop()
  await database.drop()
})

const says = (path: string, body: string) => answers.set(path, (response) => void response.end(body))
const evm = () =>
  openEvmChain(
    {
      chainId: 31_337,
      networkName: 'the test chain',
      rpcUrls: [chain.rpcUrl, node.url],
      safeBlocks: 1,
      finalizedBlocks: 2,
    },
    systemClock,
  )
const http = (change: Partial<RateConfig & { kind: 'http' }> = {}, paths = ['/a', '/b', '/c']) =>
  openRateSource(
    {
      kind: 'http',
      sources: paths.map(() => ({ pointer: '/data/price' })),
      timeoutMs: 20_000,
      maxAgeMs: 120_000,
      maxDeviationPercent: 5,
      ...change,
    },
    paths.map((path) => base + path),
    evm(),
    systemClock,
  )
const price = (text: string) => `{"data":{"price":${text}}}`

test('the median of an even number is the mean of the middle two, rounded down', () => {
  expect([median([3n, 1n, 2n]), median([4n, 1n, 2n, 3n]), median([1n, 2n]), median([5n])]).toEqual([2n, 2n, 1n, 5n])
})

describe('sources over HTTP', () => {
  test('give the median, read digit by digit: as number, as text, with an exponent', async () => {
    says('/a', price('2500.123456789012345678'))
    says('/b', price('"2500.1"'))
    says('/c', price('2.6e3'))
    expect((await http().read()).rate).toBe(2_500_123_456_789_012_345_678n)
  })

  test.each<[string, (response: ServerResponse) => void, string]>([
    ['fails', (response) => response.writeHead(500).end(), 'it answered 500'],
    ['sends elsewhere', (response) => response.writeHead(302, { location: '/b' }).end(), 'it cannot be reached'],
    ['sends too much', (response) => response.end('x'.repeat(70_000)), 'it answered with more than 65536 bytes'],
    ['sends no JSON', (response) => response.end('2500'.concat('<')), 'it answered with no JSON'],
    ['has no price', (response) => response.end('{"data":{}}'), 'there is no price where it should be'],
    ['says zero', (response) => response.end(price('0')), 'there is no price where it should be'],
    ['says less than zero', (response) => response.end(price('-1')), 'there is no price where it should be'],
    [
      'says more than a coin is worth',
      (response) => response.end(price('1e29')),
      'there is no price where it should be',
    ],
  ])('do without one that %s, and keep why', async (_, answer, why) => {
    answers.set('/a', answer)
    says('/b', price('100'))
    says('/c', price('102'))
    const { rate, detail } = await http().read()
    expect(rate).toBe(101n * USD)
    expect(detail).toMatchObject({ sources: [{ failed: why }, {}, {}] })
    expect(JSON.stringify(detail)).not.toContain(base)
  })

  test.each<[string, (response: ServerResponse) => void]>([
    ['before its answer', () => undefined],
    ['in the middle of it', (response) => response.write('{"data":')],
  ])('are given up when they hang %s', async (_, answer) => {
    answers.set('/a', answer)
    const source = { url: `${base}/a`, pointer: '/data/price', timeoutMs: 50 }
    await expect(readHttpSource(source, systemClock)).rejects.toThrow('it did not answer in time')
  })

  test('do without one that is far from the others, and say nothing when two do not agree', async () => {
    says('/a', price('100'))
    says('/b', price('101'))
    says('/c', price('200'))
    expect((await http().read()).rate).toBe(100n * USD + USD / 2n)
    says('/b', price('150'))
    await expect(http().read()).rejects.toThrow('1 of 3 rate sources gave a fresh rate')
    answers.delete('/b')
    await expect(http().read()).rejects.toThrow('0 of 3 rate sources')
  })

  test('do without one whose own time is too old; the rate is as old as its oldest part', async () => {
    const seconds = Math.floor(systemClock.now().getTime() / 1000)
    for (const [path, age] of [
      ['/a', 30],
      ['/b', 90],
      ['/c', 150],
    ] as const)
      says(path, `{"data":{"price":"10","time":${seconds - age}}}`)
    const source = http({ sources: Array(3).fill({ pointer: '/data/price', timePointer: '/data/time' }) })
    expect((await source.read()).observedAt.getTime()).toBe((seconds - 90) * 1000)
  })
})

describe('a feed on the chain', () => {
  const FEED = `0x${'fe'.repeat(20)}`
  /** Answers `decimals()` with 8, and everything else with these five words, which lie behind the code. */
  const deploy = (words: readonly bigint[]) =>
    chain.rpc(
      'anvil_setCode',
      FEED,
      `0x5f3560e01c63313ce5671460185760a060215f3960a05ff35b60085f5260205ff3${words.map(word).join('')}`,
    )
  const feed = () => openRateSource({ kind: 'feed', address: FEED, maxAgeMs: 3_600_000 }, [], evm(), systemClock)
  const nowSeconds = () => BigInt(Math.floor(systemClock.now().getTime() / 1000))

  test('is read at one block of every node, with its own decimals and time', async () => {
    const updatedAt = nowSeconds() - 60n
    await deploy([7n, 250_012_345_678n, updatedAt, updatedAt, 7n])
    const { rate, observedAt } = await feed().read()
    expect([rate, observedAt]).toEqual([2_500_123_456_780_000_000_000n, new Date(Number(updatedAt) * 1000)])
  })

  test.each<[string, bigint[], RegExp]>([
    ['without a price', [7n, 0n, 1n, 1n, 7n], /no price above zero/],
    ['with a price below zero', [7n, (1n << 256n) - 5n, 1n, 1n, 7n], /no price above zero/],
    ['in an unfinished round', [7n, 100n, 1n, 0n, 7n], /not finished its round/],
    ['with the answer of an earlier round', [7n, 100n, 1n, 1n, 6n], /not finished its round/],
  ])('%s gives no rate', async (_, words, why) => {
    await deploy(words)
    await expect(feed().read()).rejects.toThrow(why)
  })

  test('that is no aggregator, or that nodes read differently, gives no rate', async () => {
    await deploy([7n, 100n, 1n, 1n, 7n])
    node.lie = async ({ method, params }, honest) =>
      method === 'eth_call' ? `0x${word(9n)}` : honest(method, ...params)
    await expect(feed().read()).rejects.toThrow(/disagree about the rate of the feed/)
    node.lie = undefined
    await chain.rpc('anvil_setCode', FEED, '0x')
    await expect(feed().read()).rejects.toThrow(/no aggregator|not a number|hex/)
  })
})

describe('rates in force', () => {
  test('are stored, used again while they are young, and refused once the newest is too old', async () => {
    let reads = 0
    let now = systemClock.now()
    const clock = { now: () => now, monotonicMs: () => now.getTime() }
    let fails = false
    const source = {
      kind: 'http' as const,
      maxAgeMs: 120_000,
      async read() {
        reads += 1
        if (fails) throw new Error('away')
        return { rate: 5n * USD, observedAt: now, detail: {} }
      },
    }
    const rates = openRates({ db: database.db, clock, source })
    const [one, other] = await Promise.all([rates.current(), rates.current()])
    expect([one.id, reads]).toEqual([other.id, 1])
    const later = (seconds: number) => {
      now = new Date(now.getTime() + seconds * 1000)
    }
    later(59)
    expect((await rates.current()).id).toBe(one.id)
    later(1)
    fails = true
    expect((await rates.current()).id).toBe(one.id)
    expect(reads).toBe(2)
    later(59)
    expect((await rates.current()).rate).toBe(5n * USD)
    later(1)
    await expect(rates.current()).rejects.toMatchObject({ code: 'rate_unavailable', retryAfterMs: 10_000 })
    expect((await rates.at(one.observedAt))?.id).toBe(one.id)
    expect(await rates.at(now)).toMatchObject({ id: one.id })
    expect(await rates.at(new Date(now.getTime() + 1000))).toBeUndefined()
  })

  test('that the operator fixes hold at once, whatever was said before', async () => {
    const fixed = (rate: bigint) =>
      openRates({
        db: database.db,
        clock: systemClock,
        source: openRateSource({ kind: 'fixed', rate, maxAgeMs: 120_000 }, [], evm(), systemClock),
      })
    expect((await fixed(2n * USD).current()).rate).toBe(2n * USD)
    expect((await fixed(3n * USD).current()).rate).toBe(3n * USD)
  })
})
