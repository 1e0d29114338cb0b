import { askAll, type TransactionFacts } from '../../chains/chain.ts'
import { isDeepEnough, type RequiredDepth } from '../../chains/depth.ts'
import { directTransfer, type Verdict } from '../../chains/direct-transfer.ts'
import * as lifecycle from '../orders/lifecycle.ts'
import * as orders from '../orders/store.ts'
import type { ReadHead } from './store.ts'
import { depthFor, recipientsOf, tokensOf, type WatchedChain, type WatcherDeps } from './watched.ts'

/** Registered hashes that are read from the database in a round, and those of them that nodes are asked about. */
const READ_AT_ONCE = 1_000
const ASKED_AT_ONCE = 20

type Hash = Awaited<ReturnType<typeof orders.hashesToLookAt>>[number]
interface Ending {
  readonly event: 'fail' | 'replace' | 'mismatch'
  readonly why: string
}

/**
 * Looks at hashes that payers registered, a few in each round, the one that was looked at longest ago first. A payment
 * is found by the scan; here is found that a transaction failed, was replaced by another of the same nonce, or pays
 * somebody else, so that its payer may try again. Returns the round to call.
 */
export function candidateRound(
  deps: WatcherDeps,
  watched: WatchedChain,
): (head: ReadHead, onTrouble: (error: unknown) => void) => Promise<void> {
  const lookedAt = new Map<string, number>()
  let round = 0
  return async (head, onTrouble) => {
    round += 1
    const hashes = await orders.hashesToLookAt(deps.db, BigInt(watched.chain.chainId), READ_AT_ONCE)
    const keys = new Set(hashes.map(keyOf))
    for (const key of lookedAt.keys()) if (!keys.has(key)) lookedAt.delete(key)
    const oldest = hashes
      .toSorted((a, b) => (lookedAt.get(keyOf(a)) ?? 0) - (lookedAt.get(keyOf(b)) ?? 0))
      .slice(0, ASKED_AT_ONCE)
    await Promise.all(
      oldest.map(async (hash) => {
        lookedAt.set(keyOf(hash), round)
        await lookAt(deps, watched, hash, head).catch(onTrouble)
      }),
    )
  }
}

async function lookAt(deps: WatcherDeps, watched: WatchedChain, hash: Hash, head: ReadHead): Promise<void> {
  const order = await orders.find(deps.db, hash.order_id)
  if (!order) return
  const required = depthFor(watched, order.token_address, order.amount_micro)
  const facts = await askAll(watched.chain, (node) => node.facts(hash.tx_hash))
  const endings = await Promise.all(
    facts.map((each, index) => endingOf(watched, { hash, order, required, head }, each, index)),
  )
  await noteNonce(deps, order, hash, facts)
  if (facts.every((each) => pays(watched, hash, order, each)) && (await isTaken(deps, hash, order))) return
  const [first] = endings
  if (!first || endings.some((ending) => ending?.event !== first.event)) return
  await deps.db.transaction().execute(async (tx) => {
    const locked = await orders.lock(tx, hash.order_id)
    if (locked) await lifecycle.release(tx, locked, first.event, hash.tx_hash, first.why, deps.clock.now())
  })
}

/** Whether what one node shows is what the order asks for, paid by this transaction directly or not. */
function pays(watched: WatchedChain, hash: Hash, order: orders.Order, facts: TransactionFacts): boolean {
  const { kind } = directTransfer(facts, expectedOf(watched, hash, order))
  return kind === 'direct' || kind === 'indirect'
}

/** A payment of the order that another purchase has got: the scan will never join it, so its review opens here. */
async function isTaken(deps: WatcherDeps, hash: Hash, order: orders.Order): Promise<boolean> {
  if (!(await orders.isBoundElsewhere(deps.db, order.chain_id, hash.tx_hash, order.id))) return false
  return deps.db.transaction().execute(async (tx) => {
    const locked = await orders.lock(tx, order.id)
    return locked !== undefined && lifecycle.lose(tx, locked, hash.tx_hash, deps.clock.now())
  })
}

const expectedOf = (watched: WatchedChain, hash: Hash, order: orders.Order) => ({
  chainId: watched.chain.chainId,
  txHash: hash.tx_hash,
  token: order.token_address,
  payer: order.payer_address,
  recipient: order.recipient_address,
  amount: order.amount_micro,
})

/** Whether one node says that no money comes from this hash any more. */
async function endingOf(
  watched: WatchedChain,
  { hash, order, required, head }: { hash: Hash; order: orders.Order; required: RequiredDepth; head: ReadHead },
  facts: TransactionFacts,
  nodeIndex: number,
): Promise<Ending | undefined> {
  const verdict = directTransfer(facts, expectedOf(watched, hash, order))
  if (verdict.kind === 'failed')
    return isDeepEnough(required, verdict.block, head) ? { event: 'fail', why: 'failed' } : undefined
  if (verdict.kind === 'elsewhere') return elsewhere(watched, verdict, facts, { required, head })
  if (verdict.kind !== 'absent' || facts.transaction || hash.seen_nonce === null) return undefined
  // it was pending once and is gone: another transaction of the payer may have taken its nonce for good
  const deepBlock = blockAtDepth(required, head)
  const sent =
    deepBlock === undefined ? 0n : await watched.chain.nodes[nodeIndex]?.sentCount(order.payer_address, deepBlock)
  return sent !== undefined && sent > hash.seen_nonce ? { event: 'replace', why: 'replaced' } : undefined
}

function elsewhere(
  watched: WatchedChain,
  verdict: Verdict & { kind: 'elsewhere' },
  facts: TransactionFacts,
  { required, head }: { required: RequiredDepth; head: ReadHead },
): Ending | undefined {
  if (!isDeepEnough(required, verdict.block, head)) return undefined
  // something arrived all the same: the scan has it, and decides what it is
  const [tokens, ours] = [tokensOf(watched), recipientsOf(watched)]
  const arrived = facts.receipt?.transfers.some(
    ({ token, recipient, amount }) => amount > 0n && tokens.includes(token) && ours.includes(recipient),
  )
  if (arrived) return undefined
  return {
    event: 'mismatch',
    why: facts.receipt?.transfers.length ? 'wrong_recipient' : 'no_transfer',
  }
}

/** The highest block that is deep enough. */
function blockAtDepth(required: RequiredDepth, head: ReadHead): bigint | undefined {
  const block = required.rule === 'blocks' ? head.latest - BigInt(required.blocks) + 1n : head[required.rule]
  return block < 0n ? undefined : block
}

async function noteNonce(
  deps: WatcherDeps,
  order: orders.Order,
  hash: Hash,
  facts: readonly TransactionFacts[],
): Promise<void> {
  const seen = facts.find(
    ({ transaction, receipt }) => transaction?.from === order.payer_address && !receipt,
  )?.transaction
  if (seen && hash.seen_nonce === null) await orders.noteNonce(deps.db, hash.order_id, hash.tx_hash, seen.nonce)
}

function keyOf(hash: Hash): string {
  return `${hash.order_id} ${hash.tx_hash}`
}
