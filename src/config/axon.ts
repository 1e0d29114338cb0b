import { parseDecimal } from '../kernel/decimal.ts'
import { type RawEnvironment, readSecret } from './environment.ts'
import type { CheckedFile } from './file.ts'
import type { Problem } from './problem.ts'
import type { ReadFile } from './read-file.ts'

/** Where a rate comes from. Rates are dollars for one coin with 18 decimal places, as whole numbers. */
export type RateConfig =
  | { readonly kind: 'fixed'; readonly rate: bigint; readonly maxAgeMs: number }
  | {
      readonly kind: 'http'
      /** Their addresses are among the secrets, in the same order. */
      readonly sources: readonly { readonly pointer: string; readonly timePointer?: string }[]
      readonly timeoutMs: number
      readonly maxAgeMs: number
      /** How far a source may be from the median, in percent. */
      readonly maxDeviationPercent: number
    }
  | { readonly kind: 'feed'; readonly address: string; readonly maxAgeMs: number }

/** The chain's own coin as a means of payment. Addresses are lower case, dollars are micro units. */
export interface AxonConfig {
  readonly enabled: boolean
  readonly chainId: number
  readonly networkName: string
  readonly symbol: string
  readonly payToAddress: string
  /** Former ones: what arrives there is put up for review. */
  readonly retiredAddresses: readonly string[]
  /** The node that payers are told of. Never one of ours: those may hold keys. */
  readonly publicRpcUrl: string
  /** Without a trailing slash; empty where there is none. */
  readonly explorerUrl: string
  readonly minTopupMicro: bigint
  readonly maxTopupMicro: bigint
  /** Whether a payment that nobody quoted is credited at the rate of its block, or reviewed. */
  readonly unquoted: 'review' | 'spot'
  readonly confirmations: {
    readonly blocks: number
    readonly blocksUpToMicro: bigint
    readonly safeUpToMicro: bigint
    readonly singleNodeBlocks?: number
  }
  readonly safeBlocks: number
  readonly finalizedBlocks: number
  readonly rate: RateConfig
}

/** What of it must never be shown: addresses often hold keys. */
export interface AxonSecrets {
  readonly rpcUrls: readonly string[]
  readonly rateUrls: readonly string[]
}

type FileAxon = NonNullable<CheckedFile['content']['payments']['axon']>
type Refuse = (object: object, key: string, problem: string, fix: string) => void

const USD_PLACES = 6
const RATE_PLACES = 18
/** A rate that is not checked by anybody stays as it is: its age only says how often it is written down. */
const FIXED_RATE_AGE_MS = 120_000

/** The coin that is taken, the addresses behind it, and what is wrong with them. undefined: none is taken. */
export function readAxon(
  file: CheckedFile,
  raw: RawEnvironment,
  readFile: ReadFile,
): { axon: AxonConfig | undefined; secrets: AxonSecrets; problems: readonly Problem[] } {
  const problems: Problem[] = []
  const axon = file.content.payments.axon
  if (axon === undefined) return { axon: undefined, secrets: { rpcUrls: [], rateUrls: [] }, problems }
  const refuse: Refuse = (object, key, problem, fix) =>
    problems.push({ where: file.place(object, key), problem: `The native token: ${problem}`, fix })
  const fromVariable = (object: object, key: string, variable: string): string => {
    const found = readSecret(raw, readFile, variable)
    if ('problem' in found) refuse(object, key, `${found.where}: ${found.problem}`, found.fix)
    else if (!found.value) refuse(object, key, `\`${variable}\` is not set.`, `Set ${variable} or ${variable}_FILE.`)
    return 'problem' in found ? '' : (found.value ?? '')
  }
  const rpcUrls = [
    ...axon.rpc_urls,
    ...(axon.rpc_urls_env === undefined ? [] : listOf(fromVariable(axon, 'rpc_urls_env', axon.rpc_urls_env))),
  ]
  if (axon.rpc_urls.length === 0 && axon.rpc_urls_env === undefined)
    refuse(axon, 'rpc_urls', 'there is no node to ask.', 'Set `rpc_urls_env` or `rpc_urls`.')
  if (new Set(rpcUrls).size < rpcUrls.length)
    refuse(axon, 'rpc_urls', 'a node is named twice.', 'Asking the same node twice proves nothing: name another.')
  if (!rpcUrls.every(isHttp))
    refuse(axon, 'rpc_urls', 'one of its nodes is no http:// or https:// address.', 'Correct it.')
  const rate = readRate(axon.rate, refuse)
  const rateUrls = axon.rate.kind === 'http' ? rateUrlsOf(axon.rate, refuse, fromVariable) : []
  return { axon: resolved(axon, rate, refuse), secrets: { rpcUrls, rateUrls }, problems }
}

const listOf = (text: string): string[] =>
  text
    .split(',')
    .map((url) => url.trim())
    .filter((url) => url !== '')

const isHttp = (url: string): boolean => URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)

function readRate(rate: FileAxon['rate'], refuse: Refuse): RateConfig {
  if (rate.kind === 'fixed') {
    const value = parseDecimal(rate.usd, RATE_PLACES) ?? 0n
    if (value === 0n) refuse(rate, 'usd', 'the rate is nothing.', 'Write dollars for one coin, such as "2500.5".')
    return { kind: 'fixed', rate: value, maxAgeMs: FIXED_RATE_AGE_MS }
  }
  const maxAgeMs = rate.max_age_seconds * 1000
  if (rate.kind === 'feed') return { kind: 'feed', address: rate.address.toLowerCase(), maxAgeMs }
  return {
    kind: 'http',
    maxAgeMs,
    timeoutMs: rate.timeout_ms,
    maxDeviationPercent: rate.max_deviation_percent,
    sources: rate.sources.map(({ pointer, time_pointer: timePointer }) => ({
      pointer,
      ...(timePointer !== undefined && { timePointer }),
    })),
  }
}

function rateUrlsOf(
  rate: FileAxon['rate'] & { kind: 'http' },
  refuse: Refuse,
  fromVariable: (object: object, key: string, variable: string) => string,
): string[] {
  const urls = rate.sources.map((source) => {
    if ((source.url === undefined) === (source.url_env === undefined)) {
      refuse(source, 'url', 'a rate source has no address, or two.', 'Set one of `url` and `url_env`.')
      return ''
    }
    const url = source.url ?? fromVariable(source, 'url_env', source.url_env ?? '')
    if (url !== '' && !isHttp(url)) refuse(source, 'url_env', 'it is no http:// or https:// address.', 'Correct it.')
    return url
  })
  const known = urls.filter((url) => url !== '')
  if (new Set(known).size < known.length)
    refuse(rate, 'sources', 'a rate source is named twice.', 'The median of one opinion proves nothing: name another.')
  return urls
}

function resolved(axon: FileAxon, rate: RateConfig, refuse: Refuse): AxonConfig {
  const payToAddress = axon.pay_to_address.toLowerCase()
  const retiredAddresses = axon.retired_addresses.map((address) => address.toLowerCase())
  if (retiredAddresses.includes(payToAddress))
    refuse(axon, 'retired_addresses', 'its recipient is also retired.', 'Remove it from one of the two.')
  const usd = (key: 'min_topup_usd' | 'max_topup_usd'): bigint => parseDecimal(axon[key], USD_PLACES) ?? 0n
  const [minTopupMicro, maxTopupMicro] = [usd('min_topup_usd'), usd('max_topup_usd')]
  if (minTopupMicro === 0n || minTopupMicro > maxTopupMicro)
    refuse(axon, 'min_topup_usd', 'the smallest top-up is nothing, or above the largest.', 'Correct one of the two.')
  const { confirmations } = axon
  return {
    enabled: axon.enabled,
    chainId: axon.chain_id,
    networkName: axon.network_name,
    symbol: axon.symbol,
    payToAddress,
    retiredAddresses,
    publicRpcUrl: axon.public_rpc_url,
    explorerUrl: axon.explorer_url.replace(/\/$/, ''),
    minTopupMicro,
    maxTopupMicro,
    unquoted: axon.unquoted,
    confirmations: {
      blocks: confirmations.blocks,
      blocksUpToMicro: BigInt(confirmations.blocks_up_to_micro),
      safeUpToMicro: BigInt(confirmations.safe_up_to_micro),
      ...(confirmations.single_node_blocks !== undefined && { singleNodeBlocks: confirmations.single_node_blocks }),
    },
    safeBlocks: axon.safe_blocks,
    finalizedBlocks: axon.finalized_blocks,
    rate,
  }
}
