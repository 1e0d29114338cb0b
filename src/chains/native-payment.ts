import type { ChainTransaction, TransactionFacts } from './chain.ts'

/** A transaction in the chain, as far as it moves the chain's own coin by itself. */
export interface NativePayment {
  readonly payer: string
  /** undefined: it creates a contract. */
  readonly recipient: string | undefined
  /** In wei. */
  readonly value: bigint
  /** False: it is in the chain and moved nothing. */
  readonly succeeded: boolean
  /** Why it is more than a plain payment; undefined when it is one. */
  readonly objection: string | undefined
  readonly block: bigint
  readonly blockHash: string
  readonly blockAt: Date
}

/** What a node, or all of them together, know of a transaction. */
export type NativeSight =
  | { readonly kind: 'unknown' }
  /** It is known and in no block of the chain. */
  | { readonly kind: 'waiting' }
  | { readonly kind: 'mined'; readonly payment: NativePayment }
  /** The nodes do not say the same: nothing follows from it. */
  | { readonly kind: 'disputed' }

/** Legacy, access list, fee market and set code; a blob transaction is no payment. */
const TYPES = new Set([0, 1, 2, 4])

/**
 * What one node's facts say. Only the transaction itself counts: value that a contract passes on inside it is in no
 * log and cannot be told from none. Depth is not looked at here.
 */
export function nativeSight(facts: TransactionFacts, expected: { chainId: number; txHash: string }): NativeSight {
  const { transaction, receipt, canonical } = facts
  if (facts.chainId !== expected.chainId) return { kind: 'disputed' }
  if (transaction?.hash !== expected.txHash) return { kind: 'unknown' }
  // nodes serve receipts of dead branches, sometimes for ever
  if (!receipt || !canonical || canonical.header.hash !== receipt.blockHash || !canonical.lists)
    return { kind: 'waiting' }
  return {
    kind: 'mined',
    payment: {
      payer: transaction.from,
      recipient: transaction.to,
      value: transaction.value,
      succeeded: receipt.succeeded,
      objection: objectionTo(transaction),
      block: receipt.block,
      blockHash: receipt.blockHash,
      blockAt: canonical.header.at,
    },
  }
}

function objectionTo({ input, type }: ChainTransaction): string | undefined {
  if (input !== '0x') return 'the transaction carries a call'
  return TYPES.has(type) ? undefined : `the transaction is of type ${type}`
}

/** What all nodes say together. One that knows a waiting transaction is enough to keep waiting for it. */
export function agreedSight(sights: readonly NativeSight[]): NativeSight {
  const kinds = new Set(sights.map(({ kind }) => kind))
  if (kinds.has('disputed')) return { kind: 'disputed' }
  if (!kinds.has('mined')) return { kind: kinds.has('waiting') ? 'waiting' : 'unknown' }
  if (kinds.size > 1 || new Set(sights.map(comparable)).size > 1) return { kind: 'disputed' }
  // a chain has at least one node
  return sights[0] as NativeSight
}

function comparable(sight: NativeSight): string {
  return JSON.stringify(sight, (_, value: unknown) => (typeof value === 'bigint' ? `${value}` : value))
}
