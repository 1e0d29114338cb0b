/** What a wallet in the browser can do (EIP-1193). */
export interface Eip1193 {
  request(call: { method: string; params?: readonly unknown[] }): Promise<unknown>
  on?(event: string, listener: (value: unknown) => void): void
  removeListener?(event: string, listener: (value: unknown) => void): void
}

/** A wallet that announced itself (EIP-6963). */
export interface Wallet {
  readonly id: string
  readonly name: string
  /** A data: URI, or "" where the wallet sent something else. */
  readonly icon: string
  readonly provider: Eip1193
}

interface Announcement {
  readonly info: { readonly uuid: string; readonly name: string; readonly icon: string }
  readonly provider: Eip1193
}

declare global {
  interface Window {
    ethereum?: Eip1193
  }
  interface WindowEventMap {
    'eip6963:announceProvider': CustomEvent<Announcement>
  }
}

let wallets: readonly Wallet[] = []
const listeners = new Set<() => void>()

addEventListener('eip6963:announceProvider', ({ detail }) => {
  const { info, provider } = detail
  if (wallets.some(({ id }) => id === info.uuid)) return
  const icon = /^data:image\//.test(info.icon) ? info.icon : ''
  wallets = [...wallets, { id: info.uuid, name: info.name.slice(0, 60), icon, provider }]
  for (const listener of listeners) listener()
})
dispatchEvent(new Event('eip6963:requestProvider'))

/** For useSyncExternalStore. */
export function subscribeToWallets(listener: () => void): () => void {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

/** Every wallet that announced itself; the old global one where none did. */
export function knownWallets(): readonly Wallet[] {
  if (wallets.length > 0 || window.ethereum === undefined) return wallets
  wallets = [{ id: 'window.ethereum', name: 'Browser wallet', icon: '', provider: window.ethereum }]
  return wallets
}

/** The code of a wallet's refusal: 4001 is the person's own no, and nothing else is. */
export function walletErrorCode(error: unknown): number | undefined {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
  return typeof code === 'number' ? code : undefined
}

/** Asks which accounts the person shares with this page; the first is the selected one. */
export async function requestAccounts(wallet: Wallet): Promise<readonly string[]> {
  const accounts = await wallet.provider.request({ method: 'eth_requestAccounts' })
  return Array.isArray(accounts) ? accounts.filter((account) => typeof account === 'string') : []
}

/** Has a text signed by EIP-191. */
export async function signText(wallet: Wallet, address: string, text: string): Promise<string> {
  const hex = `0x${Array.from(new TextEncoder().encode(text), (byte) => byte.toString(16).padStart(2, '0')).join('')}`
  return String(await wallet.provider.request({ method: 'personal_sign', params: [hex, address] }))
}
