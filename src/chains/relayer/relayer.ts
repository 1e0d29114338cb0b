import type { Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { keccak256 } from 'viem/utils'

/** The account that sends other people's authorizations and pays their gas. Its key stays inside. */
export interface Relayer {
  /** Lower case. */
  readonly address: string
  /** Signs a transaction; sends nothing. */
  sign(transaction: RelayedTransaction): Promise<{ readonly raw: string; readonly txHash: string }>
}

/** What a relayer signs: a call without value, with an account nonce that its lane gave out. */
export interface RelayedTransaction {
  readonly chainId: number
  readonly nonce: bigint
  readonly to: string
  readonly data: string
  readonly gasLimit: bigint
  /** In wei for a unit of gas. */
  readonly maxFee: bigint
  readonly priorityFee: bigint
}

/** The relayer of a private key: 32 bytes as hex with 0x. */
export function openRelayer(privateKey: string): Relayer {
  const account = privateKeyToAccount(privateKey as Hex)
  return {
    address: account.address.toLowerCase(),
    async sign({ chainId, nonce, to, data, gasLimit, maxFee, priorityFee }) {
      const raw = await account.signTransaction({
        type: 'eip1559',
        chainId,
        nonce: Number(nonce),
        to: to as Hex,
        data: data as Hex,
        gas: gasLimit,
        maxFeePerGas: maxFee,
        maxPriorityFeePerGas: priorityFee,
      })
      return { raw, txHash: keccak256(raw) }
    },
  }
}
