import type { AxonConfig } from './axon.ts'
import type { RawEnvironment } from './environment.ts'
import { readSecret } from './environment.ts'
import type { CheckedFile } from './file.ts'
import type { Problem } from './problem.ts'
import type { ReadFile } from './read-file.ts'
import type { X402Config } from './x402.ts'

/** An accepted asset as the operator describes it; what is absent has the default of the asset's row. Amounts are micro units of the asset. */
export interface AssetConfig {
  readonly recipient: string
  readonly retiredRecipients: readonly string[]
  readonly enabled: boolean
  readonly ratePpm?: bigint
  readonly minAmountMicro?: bigint
  readonly maxAmountMicro?: bigint
  readonly firstBlock?: bigint
  readonly rpcTimeoutMs?: number
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
  /** The chain's own coin; undefined: it is not taken. */
  readonly axon: AxonConfig | undefined
  /** undefined: no top-ups by x402. */
  readonly x402: X402Config | undefined
}

type FileAsset = CheckedFile['content']['payments']['assets'][string]
const URLS_MAX = 8

/** The accepted assets, the addresses of their nodes, which may hold keys, and what is wrong with them. */
export function readPayments(
  file: CheckedFile,
  raw: RawEnvironment,
  readFile: ReadFile,
): {
  payments: Pick<PaymentsConfig, 'assets'>
  rpcUrls: Readonly<Record<string, readonly string[]>>
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
  return { payments: { assets }, rpcUrls, problems }
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
    ...(asset.rpc_timeout_ms !== undefined && { rpcTimeoutMs: asset.rpc_timeout_ms }),
    ...(asset.rate_ppm !== undefined && { ratePpm: BigInt(asset.rate_ppm) }),
    ...(asset.min_amount_micro !== undefined && { minAmountMicro: BigInt(asset.min_amount_micro) }),
    ...(asset.first_block !== undefined && { firstBlock: BigInt(asset.first_block) }),
    ...(asset.max_amount_micro !== undefined && { maxAmountMicro: BigInt(asset.max_amount_micro) }),
    confirmations: {
      ...(blocks !== undefined && { blocks }),
      ...(blocksUpTo !== undefined && { blocksUpToMicro: BigInt(blocksUpTo) }),
      ...(safeUpTo !== undefined && { safeUpToMicro: BigInt(safeUpTo) }),
      ...(singleNodeBlocks !== undefined && { singleNodeBlocks }),
    },
  }
}
