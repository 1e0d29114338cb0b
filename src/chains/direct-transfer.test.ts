import { expect, test } from 'vitest'
import type { TransactionFacts } from './chain.ts'
import { directTransfer } from './direct-transfer.ts'

const token = `0x${'a'.repeat(40)}`
const payer = `0x${'b'.repeat(40)}`
const recipient = `0x${'c'.repeat(40)}`
const stranger = `0x${'d'.repeat(40)}`
const txHash = `0x${'1'.repeat(64)}`
const blockHash = `0x${'2'.repeat(64)}`
const expected = { chainId: 8453, txHash, token, payer, recipient, amount: 5_000_000n }
const call = (to: string, amount: bigint) =>
  `0xa9059cbb${to.slice(2).padStart(64, '0')}${amount.toString(16).padStart(64, '0')}`
const log = { token, payer, recipient, amount: 5_000_000n }

interface Changes {
  facts?: Partial<TransactionFacts>
  transaction?: Partial<NonNullable<TransactionFacts['transaction']>>
  receipt?: Partial<NonNullable<TransactionFacts['receipt']>>
}

function factsWith({ facts, transaction, receipt }: Changes): TransactionFacts {
  return {
    chainId: 8453,
    transaction: {
      hash: txHash,
      from: payer,
      to: token,
      value: 0n,
      input: call(recipient, 5_000_000n),
      type: 2,
      signedFor: 8453,
      nonce: 7n,
      ...transaction,
    },
    receipt: { succeeded: true, block: 100n, blockHash, transfers: [log], ...receipt },
    canonical: { header: { number: 100n, hash: blockHash, at: new Date(0) }, lists: true },
    ...facts,
  }
}

test('a plain transfer by the payer is direct', () => {
  expect(directTransfer(factsWith({}), expected)).toEqual({
    kind: 'direct',
    block: 100n,
    blockHash,
  })
})

test.each<[string, Changes]>([
  ['a legacy transaction', { transaction: { type: 0 } }],
  ['a transaction that also sets code (EIP-7702)', { transaction: { type: 4 } }],
  ['512 bytes that a wallet appends', { transaction: { input: call(recipient, 5_000_000n) + 'ff'.repeat(512) } }],
  ['transfers of other tokens in the same transaction', { receipt: { transfers: [{ ...log, token: stranger }, log] } }],
])('%s leave it direct', (_, changes) => {
  expect(directTransfer(factsWith(changes), expected).kind).toBe('direct')
})

test.each<[string, Changes]>([
  ['the node is on another chain', { facts: { chainId: 1 } }],
  ['the transaction is unknown', { facts: { transaction: undefined } }],
  ['the transaction is another one', { transaction: { hash: blockHash } }],
  ['there is no receipt', { facts: { receipt: undefined, canonical: undefined } }],
  ['the block at its height is another one', { receipt: { blockHash: `0x${'3'.repeat(64)}` } }],
  [
    'the block does not list it',
    {
      facts: {
        canonical: { header: { number: 100n, hash: blockHash, at: new Date(0) }, lists: false },
      },
    },
  ],
  ['there is no block at its height', { facts: { canonical: undefined } }],
])('nothing follows when %s', (_, changes) => {
  expect(directTransfer(factsWith(changes), expected).kind).toBe('absent')
})

test.each<[string, Changes]>([
  ['another account sent it', { transaction: { from: stranger } }],
  ['another contract was called', { transaction: { to: stranger } }],
  ['it creates a contract', { transaction: { to: undefined } }],
  ['it carries native currency', { transaction: { value: 1n } }],
  ['it is a blob transaction', { transaction: { type: 3 } }],
  ['its signature is for any chain', { transaction: { type: 0, signedFor: undefined } }],
  ['its signature is for chain 0', { transaction: { signedFor: 0 } }],
  [
    'another function was called',
    { transaction: { input: call(recipient, 5_000_000n).replace('a9059cbb', '23b872dd') } },
  ],
  ['the call names another recipient', { transaction: { input: call(stranger, 5_000_000n) } }],
  ['the call names another amount', { transaction: { input: call(recipient, 5_000_001n) } }],
  ['more than 512 bytes are appended', { transaction: { input: call(recipient, 5_000_000n) + 'ff'.repeat(513) } }],
  ['the token moved twice', { receipt: { transfers: [log, { ...log, recipient: stranger }] } }],
])('value that arrived is indirect when %s', (_, changes) => {
  expect(directTransfer(factsWith(changes), expected).kind).toBe('indirect')
})

test.each<[string, Changes]>([
  ['another token', { receipt: { transfers: [{ ...log, token: stranger }] } }],
  ['another payer', { receipt: { transfers: [{ ...log, payer: stranger }] } }],
  ['another recipient', { receipt: { transfers: [{ ...log, recipient: stranger }] } }],
  ['another amount', { receipt: { transfers: [{ ...log, amount: 4_999_999n }] } }],
  ['no log at all, though it succeeded', { receipt: { transfers: [] } }],
])('it is elsewhere with %s', (_, changes) => {
  expect(directTransfer(factsWith(changes), expected).kind).toBe('elsewhere')
})

test('a transaction of status 0 failed, whatever else it shows', () => {
  expect(directTransfer(factsWith({ receipt: { succeeded: false, transfers: [] } }), expected)).toEqual({
    kind: 'failed',
    block: 100n,
  })
})
