import { askAgreed, askAll, type Chain } from '../../../chains/chain.ts'
import type { RateConfig } from '../../../config/axon.ts'
import type { JsonObject } from '../../../db/schema.ts'
import type { Clock } from '../../../kernel/clock.ts'
import { RATE_MAX, RATE_PLACES, readHttpSource } from './http-source.ts'
import { median, withinDeviation } from './median.ts'

/** What a source of rates says: dollars for one coin with 18 places, and how old that is. */
export interface RateReading {
  readonly rate: bigint
  readonly observedAt: Date
  /** What it was made of, to be kept. Never an address: those may hold keys. */
  readonly detail: JsonObject
}

/** Where rates come from. `read` throws RateUnreadable, or what the chain throws. */
export interface RateSource {
  readonly kind: RateConfig['kind']
  readonly maxAgeMs: number
  read(): Promise<RateReading>
}

/** No rate could be read. The message names no address. */
class RateUnreadable extends Error {
  override name = 'RateUnreadable'
}

/** `latestRoundData()` and `decimals()`. */
const LATEST_ROUND = '0xfeaf968c'
const DECIMALS = '0x313ce567'
const PLACES_MAX = 36
/** A number whose highest bit says that it is negative. */
const NEGATIVE = 1n << 255n

/** The source that the operator configured. */
export function openRateSource(config: RateConfig, urls: readonly string[], chain: Chain, clock: Clock): RateSource {
  const { kind, maxAgeMs } = config
  if (kind === 'fixed')
    return { kind, maxAgeMs, read: async () => ({ rate: config.rate, observedAt: clock.now(), detail: {} }) }
  if (kind === 'feed') return { kind, maxAgeMs, read: () => readFeed(chain, config.address) }
  return { kind, maxAgeMs, read: () => readHttp(config, urls, clock) }
}

async function readHttp(
  config: RateConfig & { kind: 'http' },
  urls: readonly string[],
  clock: Clock,
): Promise<RateReading> {
  const answers = await Promise.all(
    config.sources.map((source, index) =>
      readHttpSource({ ...source, url: urls[index] ?? '', timeoutMs: config.timeoutMs }, clock).catch(
        (error: unknown) => (error instanceof Error ? error.message : 'unknown'),
      ),
    ),
  )
  const oldest = clock.now().getTime() - config.maxAgeMs
  const fresh = answers.filter((answer) => typeof answer === 'object' && answer.observedAt.getTime() >= oldest) as {
    rate: bigint
    observedAt: Date
  }[]
  const agreeing = withinDeviation(fresh, config.maxDeviationPercent)
  if (agreeing.length < 2)
    throw new RateUnreadable(
      `${agreeing.length} of ${config.sources.length} rate sources gave a fresh rate that another confirms; it takes 2`,
    )
  const observedAt = new Date(Math.min(...agreeing.map((answer) => answer.observedAt.getTime())))
  const detail = answers.map((answer) =>
    typeof answer === 'string'
      ? { failed: answer }
      : { rate: String(answer.rate), observed_at: answer.observedAt.toISOString() },
  )
  return { rate: median(agreeing.map(({ rate }) => rate)), observedAt, detail: { sources: detail } }
}

/** Reads an aggregator at one block that every node has, and believes what all of them say. */
async function readFeed(chain: Chain, address: string): Promise<RateReading> {
  const heads = await askAll(chain, (node) => node.heads())
  const block = heads.reduce(
    (lowest, { latest }) => (latest.number < lowest ? latest.number : lowest),
    heads[0]?.latest.number ?? 0n,
  )
  const [round, places] = await askAgreed(chain, 'the rate of the feed', (node) =>
    Promise.all([node.read(address, LATEST_ROUND, block), node.read(address, DECIMALS, block)]),
  )
  const words =
    round
      ?.slice(2)
      .match(/.{64}/g)
      ?.map((word) => BigInt(`0x${word}`)) ?? []
  const [roundId, answer, , updatedAt, answeredInRound] = words
  const decimals = /^0x[0-9a-f]{64}$/.test(places ?? '') ? Number(BigInt(places ?? '')) : PLACES_MAX + 1
  if (roundId === undefined || answer === undefined || updatedAt === undefined || answeredInRound === undefined)
    throw new RateUnreadable('the feed is no aggregator')
  if (decimals > PLACES_MAX) throw new RateUnreadable(`the feed says it has ${decimals} decimals`)
  if (answer === 0n || answer >= NEGATIVE) throw new RateUnreadable('the feed gives no price above zero')
  if (answeredInRound < roundId || updatedAt === 0n) throw new RateUnreadable('the feed has not finished its round')
  return {
    rate: scaled(answer, decimals),
    observedAt: new Date(Number(updatedAt) * 1000),
    detail: { block: String(block), answer: String(answer), decimals },
  }
}

/** A price with so many places as one with 18. Rounded down: a lower rate asks for more coins. */
function scaled(answer: bigint, places: number): bigint {
  const rate = (answer * 10n ** BigInt(RATE_PLACES)) / 10n ** BigInt(places)
  if (rate === 0n || rate > RATE_MAX) throw new RateUnreadable('the feed gives a price that no coin has')
  return rate
}
