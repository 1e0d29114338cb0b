import type { TransactionFacts } from './chain.ts'

/** A transfer that somebody is to be credited for. Addresses and hash lower case, amount in the token's smallest unit. */
export interface ExpectedTransfer {
  readonly chainId: number
  readonly txHash: string
  readonly token: string
  readonly payer: string
  readonly recipient: string
  readonly amount: bigint
}

/** What one node's facts say about an expected transfer. */
export type Verdict =
  /** It is the payer's own plain transfer, in the chain's own block. */
  | { readonly kind: 'direct'; readonly block: bigint; readonly blockHash: string }
  /** The value arrived, but not by the payer's own plain transfer. */
  | {
      readonly kind: 'indirect'
      readonly reason: string
      readonly block: bigint
      readonly blockHash: string
    }
  /** The transaction is in the chain and moved nothing: its status is 0. */
  | { readonly kind: 'failed'; readonly block: bigint }
  /** The transaction is in the chain and does not hold this transfer. */
  | { readonly kind: 'elsewhere'; readonly block: bigint }
  /** Not in the chain, as far as this node knows. Nothing follows from it. */
  | { readonly kind: 'absent'; readonly reason: string }

/** `transfer(address,uint256)`. */
const SELECTOR = '0xa9059cbb'
/** `0x`, the selector and two words, in hex digits. */
const CALL_DIGITS = 2 + 8 + 64 + 64
/** Wallets append a suffix that names them (ERC-8021); more than this is something else. */
const SUFFIX_DIGITS_MAX = 2 * 512
/** Legacy, access list, fee market and set code; a blob transaction is no payment. */
const TYPES = new Set([0, 1, 2, 4])

/**
 * Whether a transaction is a direct transfer (spec 3.1 rule 2): the payer called the token itself, with nothing
 * in between, and the token logged exactly that. Depth is not looked at here.
 */
export function directTransfer(facts: TransactionFacts, expected: ExpectedTransfer): Verdict {
  const { transaction, receipt, canonical } = facts
  if (facts.chainId !== expected.chainId) return { kind: 'absent', reason: `the node is on chain ${facts.chainId}` }
  if (!transaction || transaction.hash !== expected.txHash)
    return { kind: 'absent', reason: 'the transaction is unknown' }
  if (!receipt) return { kind: 'absent', reason: 'the transaction is not in a block' }
  // nodes serve receipts of dead branches, sometimes for ever
  if (!canonical || canonical.header.hash !== receipt.blockHash || !canonical.lists)
    return { kind: 'absent', reason: 'its block is not part of the chain' }
  const { block, blockHash } = receipt
  if (!receipt.succeeded) return { kind: 'failed', block }

  const ofToken = receipt.transfers.filter((transfer) => transfer.token === expected.token)
  const same = ofToken.filter(
    ({ payer, recipient, amount }) =>
      payer === expected.payer && recipient === expected.recipient && amount === expected.amount,
  )
  if (same.length === 0) return { kind: 'elsewhere', block }
  const reason = objection(transaction, expected, ofToken.length)
  return reason === undefined ? { kind: 'direct', block, blockHash } : { kind: 'indirect', reason, block, blockHash }
}

function objection(
  transaction: NonNullable<TransactionFacts['transaction']>,
  expected: ExpectedTransfer,
  transfersOfToken: number,
): string | undefined {
  if (transaction.from !== expected.payer) return 'another account sent the transaction'
  if (transaction.to !== expected.token) return 'the transaction calls another contract than the token'
  if (transaction.value !== 0n) return 'the transaction carries native currency'
  if (transaction.signedFor !== expected.chainId) return 'its signature is not for this chain alone'
  if (!TYPES.has(transaction.type)) return `the transaction is of type ${transaction.type}`
  if (!isPlainCall(transaction.input, expected)) return 'the call is no plain transfer to the recipient'
  if (transfersOfToken !== 1) return 'the transaction moves the token more than once'
  return undefined
}

function isPlainCall(input: string, { recipient, amount }: ExpectedTransfer): boolean {
  if (input.length > CALL_DIGITS + SUFFIX_DIGITS_MAX) return false
  const call = `${SELECTOR}${recipient.slice(2).padStart(64, '0')}${amount.toString(16).padStart(64, '0')}`
  return input.slice(0, CALL_DIGITS) === call
}
