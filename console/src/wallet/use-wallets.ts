import { useSyncExternalStore } from 'react'
import { knownWallets, subscribeToWallets, type Wallet } from './wallet.ts'

/** The wallets of this browser, as they announce themselves. */
export const useWallets = (): readonly Wallet[] => useSyncExternalStore(subscribeToWallets, knownWallets)
