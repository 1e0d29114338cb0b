import { join } from 'node:path'
import type { ProgramSurroundings } from '../app/surroundings.ts'
import { type AssetSettings, acceptAssets } from '../chains/assets.ts'
import { openWatchedChains } from '../payments/watcher/port.ts'
import type { WatchedChain } from '../payments/watcher/watched.ts'
import { exitCodes, ProgramFault } from '../terminal/exit-codes.ts'
import { readConfig, type Wiring } from './settings.ts'

/** The nodes of a chain and what is accepted on it, as a server here would have them. Refuses a chain that no asset is on. */
export function watchedChain(around: ProgramSurroundings, wiring: Wiring, chainId: bigint): WatchedChain {
  const { config, secrets } = readConfig(around, wiring.mode)
  const development = wiring.mode === 'development' ? developmentAsset(around, wiring.dataFolder) : undefined
  const settings = { ...config.payments.assets, ...development?.assets }
  const chains = openWatchedChains(
    acceptAssets(settings),
    { ...secrets.rpcUrls, ...development?.rpcUrls },
    around.clock,
  )
  const found = chains.find(({ chain }) => BigInt(chain.chainId) === chainId)
  if (found) return found
  throw new ProgramFault(
    exitCodes.failed,
    `No asset in the configuration is on chain ${chainId}, so no node of it is known. Add one to \`payments.assets\`, or run this where the server's settings are.`,
  )
}

/** What `npm start` adds by itself: the stablecoin of the development chain, as dev.json tells it. */
function developmentAsset(
  around: ProgramSurroundings,
  folder: string,
): { assets: Record<string, AssetSettings>; rpcUrls: Record<string, string[]> } | undefined {
  const { chain } = JSON.parse(around.readFile(join(folder, 'dev.json')) ?? '{}') as {
    chain?: { asset_id: string; recipient_address: string; rpc_url: string }
  }
  if (!chain) return undefined
  return {
    assets: { [chain.asset_id]: { recipient: chain.recipient_address } },
    rpcUrls: { [chain.asset_id]: [chain.rpc_url] },
  }
}
