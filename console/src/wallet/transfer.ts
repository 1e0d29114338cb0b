import type { Wallet } from './wallet.ts'

/** A transfer of an EIP-20 token, as the server's order fixes it. */
export interface TokenTransfer {
  readonly chainId: number
  readonly from: string
  readonly token: string
  readonly to: string
  /** In the token's smallest unit. */
  readonly amount: bigint
}

const TRANSFER = '0xa9059cbb'
const BALANCE_OF = '0x70a08231'
const word = (hex: string): string => hex.replace(/^0x/, '').toLowerCase().padStart(64, '0')
const asHex = (value: bigint | number): string => `0x${value.toString(16)}`

/** The call that moves the tokens: `transfer(address,uint256)`, directly on the token. */
export const transferData = ({ to, amount }: Pick<TokenTransfer, 'to' | 'amount'>): string =>
  `${TRANSFER}${word(to)}${word(asHex(amount))}`

/** What stands between the wallet and the payment. */
export type Obstacle =
  | { readonly kind: 'other-account'; readonly selected: string }
  | { readonly kind: 'other-chain'; readonly selected: number }
  | { readonly kind: 'too-few-tokens'; readonly has: bigint }
  | { readonly kind: 'no-gas' }

/** Looks at account, chain, tokens and gas, in this order; undefined: all is well. What the wallet cannot tell is no obstacle. */
export async function obstacleTo(transfer: TokenTransfer, wallet: Wallet): Promise<Obstacle | undefined> {
  const ask = (method: string, params: readonly unknown[] = []) => wallet.provider.request({ method, params })
  const accounts = await ask('eth_accounts')
  const selected = Array.isArray(accounts) ? String(accounts[0] ?? '') : ''
  if (selected.toLowerCase() !== transfer.from.toLowerCase()) return { kind: 'other-account', selected }
  const chain = Number(await ask('eth_chainId'))
  if (chain !== transfer.chainId) return { kind: 'other-chain', selected: chain }
  try {
    const data = `${BALANCE_OF}${word(transfer.from)}`
    const tokens = BigInt(String(await ask('eth_call', [{ to: transfer.token, data }, 'latest'])))
    if (tokens < transfer.amount) return { kind: 'too-few-tokens', has: tokens }
    if (BigInt(String(await ask('eth_getBalance', [transfer.from, 'latest']))) === 0n) return { kind: 'no-gas' }
  } catch {
    return undefined
  }
  return undefined
}

/** Asks the wallet to send it. Rejects as the wallet does; only code 4001 says that nothing was sent. */
export async function sendTransfer(transfer: TokenTransfer, wallet: Wallet): Promise<string> {
  const hash = await wallet.provider.request({
    method: 'eth_sendTransaction',
    params: [
      {
        from: transfer.from,
        to: transfer.token,
        data: transferData(transfer),
        value: '0x0',
        chainId: asHex(transfer.chainId),
      },
    ],
  })
  if (typeof hash !== 'string' || !/^0x[0-9a-fA-F]{64}$/.test(hash)) throw new Error('the wallet gave no hash')
  return hash
}

/** Asks the wallet to change its network. */
export async function switchChain(wallet: Wallet, chainId: number): Promise<void> {
  await wallet.provider.request({ method: 'wallet_switchEthereumChain', params: [{ chainId: asHex(chainId) }] })
}
