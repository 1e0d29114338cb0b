import type { Page } from 'playwright-core'
import { createWalletClient, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'

/** How the wallet answers the next question for a transaction. */
export type Behaviour =
  /** Signs and sends. */
  | 'approve'
  /** The person says no: code 4001. */
  | 'reject'
  /** Never answers, and sends nothing. */
  | 'hang'
  /** Sends, and its answer never arrives. */
  | 'send-and-hang'
  /** Fails with a code that says nothing of what was sent. */
  | 'fail'

/** A wallet in the page's browser, backed by a real key and a real chain. */
export interface BrowserWallet {
  readonly address: string
  behaviour: Behaviour
  /** The chain that the wallet is on; `wallet_switchEthereumChain` moves it. */
  chainId: number
  /** Every method that the page asked for, in order. */
  readonly asked: string[]
  /** Hashes of what was sent. */
  readonly sent: string[]
}

/** Announces a wallet by EIP-6963 to every document of the page. Call before the page is opened. */
export async function installWallet(
  page: Page,
  { privateKey, rpcUrl, chainId }: { privateKey: string; rpcUrl: string; chainId: number },
): Promise<BrowserWallet> {
  const account = privateKeyToAccount(privateKey as `0x${string}`)
  const client = createWalletClient({ account, transport: http(rpcUrl) })
  const wallet: BrowserWallet = { address: account.address, behaviour: 'approve', chainId, asked: [], sent: [] }
  const never = new Promise<never>(() => undefined)
  const refuse = (code: number, message: string) => ({ refused: { code, message } })

  async function send(parameters: Record<string, string>): Promise<unknown> {
    if (wallet.behaviour === 'reject') return refuse(4001, 'User rejected the request.')
    if (wallet.behaviour === 'fail') return refuse(-32603, 'Internal error')
    if (wallet.behaviour === 'hang') return never
    const hash = await client.sendTransaction({
      chain: null,
      to: parameters.to as `0x${string}`,
      data: (parameters.data ?? '0x') as `0x${string}`,
      value: BigInt(parameters.value ?? 0),
    })
    wallet.sent.push(hash)
    return wallet.behaviour === 'send-and-hang' ? never : { result: hash }
  }

  async function answer(method: string, parameters: unknown[]): Promise<unknown> {
    wallet.asked.push(method)
    switch (method) {
      case 'eth_requestAccounts':
      case 'eth_accounts':
        return { result: [account.address] }
      case 'eth_chainId':
        return { result: `0x${wallet.chainId.toString(16)}` }
      case 'wallet_switchEthereumChain':
        wallet.chainId = Number((parameters[0] as { chainId: string }).chainId)
        return { result: null }
      case 'personal_sign':
        return { result: await account.signMessage({ message: { raw: parameters[0] as `0x${string}` } }) }
      case 'eth_sendTransaction':
        return send(parameters[0] as Record<string, string>)
      default: {
        const response = await fetch(rpcUrl, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: parameters }),
        })
        const body = (await response.json()) as { result?: unknown; error?: { code: number; message: string } }
        return body.error ? refuse(body.error.code, body.error.message) : { result: body.result }
      }
    }
  }

  await page.exposeFunction('fareboxTestWallet', answer)
  await page.addInitScript(announceTestWallet)
  return wallet
}

/** Runs in the page, before any of its own scripts. */
function announceTestWallet(): void {
  const page = globalThis as unknown as EventTarget
  const request = async ({ method, params = [] }: { method: string; params?: unknown[] }) => {
    const ask = Reflect.get(globalThis, 'fareboxTestWallet') as (method: string, params: unknown[]) => Promise<unknown>
    const told = (await ask(method, params)) as { result?: unknown; refused?: { code: number; message: string } }
    if (told.refused) throw Object.assign(new Error(told.refused.message), { code: told.refused.code })
    return told.result
  }
  const detail = Object.freeze({
    info: { uuid: '350670db-19fa-4704-a166-e52e178b59d2', name: 'Test wallet', icon: '', rdns: 'test.wallet' },
    provider: { request, on: () => undefined, removeListener: () => undefined },
  })
  const announce = () => page.dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail }))
  page.addEventListener('eip6963:requestProvider', announce)
  announce()
}
