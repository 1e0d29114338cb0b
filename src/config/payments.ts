import type { RawEnvironment } from './environment.ts'
import { readSecret } from './environment.ts'
import type { CheckedFile } from './file.ts'
import type { Problem } from './problem.ts'
import type { ReadFile } from './read-file.ts'

/** An accepted asset as the operator describes it; what is absent has the default of the asset's row. Amounts are micro units of the asset. */
export interface AssetConfig {
  readonly recipient: string
  readonly retiredRecipients: readonly string[]
  readonly enabled: boolean
  readonly ratePpm?: bigint
  readonly minAmountMicro?: bigint
  readonly maxAmountMicro?: bigint
  readonly confirmations: {
    readonly blocks?: number
    readonly blocksUpToMicro?: bigint
    readonly safeUpToMicro?: bigint
    readonly singleNodeBlocks?: number
  }
}

/** What is accepted as payment. */
export interface PaymentsConfig {
  /** By asset id. Whether there is such an asset is checked where the assets are known. */
  readonly assets: Readonly<Record<string, AssetConfig>>
  /** undefined: no top-ups by x402. */
  readonly x402: X402Config | undefined
}

/** How top-ups by x402 are taken. Amounts are micro units of the asset. */
export interface X402Config {
  /** One of the accepted assets. */
  readonly asset: string
  /** undefined: the asset's recipient. */
  readonly payTo: string | undefined
  readonly minAmountMicro: bigint
  readonly maxAmountMicro: bigint
  readonly confirmations: number
  readonly gasPriceMaxGwei: number
  readonly gasAlarmPayments: number
  readonly paymentsPerMinutePerPayer: number
  /** Without a trailing slash; undefined: the relayer sends. */
  readonly facilitatorUrl: string | undefined
}

type FileAsset = CheckedFile['content']['payments']['assets'][string]
const URLS_MAX = 8

/** The accepted assets, the addresses of their nodes, which may hold keys, and what is wrong with them. */
export function readPayments(
  file: CheckedFile,
  raw: RawEnvironment,
  readFile: ReadFile,
): {
  payments: PaymentsConfig
  rpcUrls: Readonly<Record<string, readonly string[]>>
  facilitatorKey: string | undefined
  problems: readonly Problem[]
} {
  const problems: Problem[] = []
  // No prototype: an id is only there when the file has it.
  const assets: Record<string, AssetConfig> = Object.create(null)
  const rpcUrls: Record<string, readonly string[]> = Object.create(null)
  for (const [id, asset] of Object.entries(file.content.payments.assets)) {
    const refuse = (key: string, problem: string, fix: string) =>
      problems.push({ where: file.place(asset, key), problem: `Asset \`${id}\`: ${problem}`, fix })
    assets[id] = resolveAsset(asset)
    const urls = [...asset.rpc_urls, ...urlsOfVariable(asset.rpc_urls_env, raw, readFile, refuse)]
    rpcUrls[id] = urls
    if (urls.length === 0 && asset.rpc_urls_env === undefined)
      refuse('rpc_urls', 'there is no node to ask.', 'Set `rpc_urls_env` or `rpc_urls`.')
    if (urls.length > URLS_MAX) refuse('rpc_urls', `there are ${urls.length} nodes.`, `Name ${URLS_MAX} at most.`)
    if (new Set(urls).size < urls.length)
      refuse('rpc_urls', 'a node is named twice.', 'Asking the same node twice proves nothing: name another.')
    if (urls.some((url) => !URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)))
      refuse(
        'rpc_urls',
        'one of its nodes is no http:// or https:// address.',
        'Write it like `https://mainnet.example.com`.',
      )
  }
  const x402 = readX402(file, raw, readFile)
  return {
    payments: { assets, x402: x402.settings },
    rpcUrls,
    facilitatorKey: x402.facilitatorKey,
    problems: [...problems, ...x402.problems],
  }
}

function readX402(
  file: CheckedFile,
  raw: RawEnvironment,
  readFile: ReadFile,
): { settings: X402Config | undefined; facilitatorKey: string | undefined; problems: readonly Problem[] } {
  const { x402, assets } = file.content.payments
  if (x402 === undefined) return { settings: undefined, facilitatorKey: undefined, problems: [] }
  const problems: Problem[] = []
  const { facilitator } = x402
  if (!Object.hasOwn(assets, x402.asset))
    problems.push({
      where: file.place(x402, 'asset'),
      problem: `\`${x402.asset}\` is not among the accepted assets.`,
      fix: 'Name one of `payments.assets`.',
    })
  if (x402.min_amount_micro > x402.max_amount_micro)
    problems.push({
      where: file.place(x402, 'min_amount_micro'),
      problem: 'The smallest amount is larger than the largest.',
      fix: 'Lower it, or raise `max_amount_micro`.',
    })
  let facilitatorKey: string | undefined
  if (facilitator?.api_key_env !== undefined) {
    const found = readSecret(raw, readFile, facilitator.api_key_env)
    if ('problem' in found) problems.push(found)
    else if (found.value) facilitatorKey = found.value
    else
      problems.push({
        where: file.place(facilitator, 'api_key_env'),
        problem: `\`${facilitator.api_key_env}\` is not set.`,
        fix: `Set ${facilitator.api_key_env} or ${facilitator.api_key_env}_FILE, or leave \`api_key_env\` out.`,
      })
  }
  const settings = {
    asset: x402.asset,
    payTo: x402.pay_to,
    minAmountMicro: BigInt(x402.min_amount_micro),
    maxAmountMicro: BigInt(x402.max_amount_micro),
    confirmations: x402.confirmations,
    gasPriceMaxGwei: x402.gas_price_max_gwei,
    gasAlarmPayments: x402.gas_alarm_payments,
    paymentsPerMinutePerPayer: x402.payments_per_minute_per_payer,
    facilitatorUrl: facilitator?.url.replace(/\/+$/, ''),
  }
  return { settings, facilitatorKey, problems }
}

function urlsOfVariable(
  variable: string | undefined,
  raw: RawEnvironment,
  readFile: ReadFile,
  refuse: (key: string, problem: string, fix: string) => void,
): string[] {
  if (variable === undefined) return []
  const found = readSecret(raw, readFile, variable)
  if ('problem' in found) refuse('rpc_urls_env', `${found.where}: ${found.problem}`, found.fix)
  else if (!found.value)
    refuse(
      'rpc_urls_env',
      `\`${variable}\` is not set.`,
      `Set ${variable} or ${variable}_FILE, or name nodes in \`rpc_urls\`.`,
    )
  else
    return found.value
      .split(',')
      .map((url) => url.trim())
      .filter((url) => url !== '')
  return []
}

function resolveAsset(asset: FileAsset): AssetConfig {
  const {
    blocks,
    blocks_up_to_micro: blocksUpTo,
    safe_up_to_micro: safeUpTo,
    single_node_blocks: singleNodeBlocks,
  } = asset.confirmations
  return {
    recipient: asset.recipient,
    retiredRecipients: asset.retired_recipients,
    enabled: asset.enabled,
    ...(asset.rate_ppm !== undefined && { ratePpm: BigInt(asset.rate_ppm) }),
    ...(asset.min_amount_micro !== undefined && { minAmountMicro: BigInt(asset.min_amount_micro) }),
    ...(asset.max_amount_micro !== undefined && { maxAmountMicro: BigInt(asset.max_amount_micro) }),
    confirmations: {
      ...(blocks !== undefined && { blocks }),
      ...(blocksUpTo !== undefined && { blocksUpToMicro: BigInt(blocksUpTo) }),
      ...(safeUpTo !== undefined && { safeUpToMicro: BigInt(safeUpTo) }),
      ...(singleNodeBlocks !== undefined && { singleNodeBlocks }),
    },
  }
}
