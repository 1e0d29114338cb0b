import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { encodeFunctionData, erc20Abi, type Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { startDevelopmentChain } from '../src/embedded/anvil-chain.ts'
import { systemClock } from '../src/kernel/clock.ts'
import type { Economy } from './database.ts'

/** A chain on which somebody pays while something else is measured. */
export interface WatchedChain {
  readonly rpcUrl: string
  readonly recipient: string
  /**
   * Does the work while an order is made and paid every second, with a block for each, by a client of the server at
   * `url`. Gives how many were credited meanwhile.
   */
  during<T>(
    server: { readonly url: string; readonly economy: Economy },
    work: () => Promise<T>,
  ): Promise<{ readonly result: T; readonly credited: number }>
  stop(): Promise<void>
}

const PAYMENT_EVERY_MS = 1_000
const AMOUNT_MICRO = 1_000_000n
/** Blocks that confirm the last payments, so that the watcher is at rest until the next measurement. */
const LAST_BLOCKS = 3

/** Starts a chain that makes a block only for a payment: between measurements it costs nothing. */
export async function startWatchedChain(folder: string): Promise<WatchedChain> {
  const chain = await startDevelopmentChain({
    dataFolder: join(folder, 'watched'),
    clock: systemClock,
    log: () => undefined,
    environment: process.env,
    mining: { kind: 'manual' },
    port: 0,
  })
  const key = chain.payers[0]?.privateKey ?? ''
  let token: string | undefined
  const pay = async (serverUrl: string) => {
    token ??= await signIn(serverUrl, key as Hex)
    const order = await post(serverUrl, '/v1/payments/orders', token, {
      asset_id: chain.assetId,
      amount_micro: String(AMOUNT_MICRO),
      idempotency_key: randomUUID(),
    })
    // the chain was not read yet, or too many orders wait: a second later
    if (!order) return
    const { id, payer_address: from, recipient_address: to } = order.data as Record<string, string>
    await post(serverUrl, `/v1/payments/orders/${id}/attempts`, token, {})
    const data = encodeFunctionData({ abi: erc20Abi, functionName: 'transfer', args: [to as Hex, AMOUNT_MICRO] })
    await chain.rpc('eth_sendTransaction', { from, to: chain.tokenAddress, data })
    await chain.rpc('evm_mine')
  }
  return {
    rpcUrl: chain.rpcUrl,
    recipient: chain.recipientAddress,
    async during({ url, economy }, work) {
      const before = await credited(economy)
      let working = true
      const payments = (async () => {
        while (working) {
          await pay(url)
          await pause(PAYMENT_EVERY_MS)
        }
      })()
      const result = await work().finally(() => {
        working = false
      })
      await payments
      const during = (await credited(economy)) - before
      for (let block = 0; block < LAST_BLOCKS; block += 1) await chain.rpc('evm_mine')
      return { result, credited: during }
    },
    stop: chain.stop,
  }
}

/** Signs in with the wallet; gives an access token. */
async function signIn(serverUrl: string, key: Hex): Promise<string> {
  const account = privateKeyToAccount(key)
  const challenge = await post(serverUrl, '/v1/auth/challenge', undefined, { wallet_address: account.address })
  const signature = await account.signMessage({ message: String(challenge?.message) })
  const verified = await post(serverUrl, '/v1/auth/verify', undefined, {
    challenge_id: challenge?.challenge_id,
    signature,
  })
  const { access_token: token } = (verified?.tokens ?? {}) as { access_token?: string }
  if (token === undefined) throw new Error('the payer could not sign in')
  return token
}

/** The answer to a request; undefined when it was refused. */
async function post(
  serverUrl: string,
  path: string,
  token: string | undefined,
  body: object,
): Promise<Record<string, unknown> | undefined> {
  const response = await fetch(serverUrl + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) },
    body: JSON.stringify(body),
  })
  const answer = (await response.json()) as Record<string, unknown>
  return response.ok ? answer : undefined
}

async function credited({ db }: Economy): Promise<number> {
  const row = await db
    .selectFrom('orders')
    .select((eb) => eb.fn.countAll<bigint>().as('n'))
    .where('status', '=', 'completed')
    .executeTakeFirstOrThrow()
  return Number(row.n)
}
