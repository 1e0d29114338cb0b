import { askAll, NodesDisagree } from '../../chains/chain.ts'
import { isDeepEnough } from '../../chains/depth.ts'
import { directTransfer, type Verdict } from '../../chains/direct-transfer.ts'
import type { Tx } from '../../db/database.ts'
import * as lifecycle from '../orders/lifecycle.ts'
import { isInTime } from '../orders/states.ts'
import * as orders from '../orders/store.ts'
import * as store from './store.ts'
import { depthFor, type WatchedChain, type WatcherDeps } from './watched.ts'

/** As many transfers are settled in one round. */
const AT_ONCE = 500
/** Transfers that nodes are asked about at the same time. */
const ASKED_AT_ONCE = 8

/**
 * Credits the transfers that are deep enough. Each is checked again on every node just before; one that a node
 * sees differently, or does not see, waits for the next round. Gives how many were credited.
 */
export async function settleTransfers(
  deps: WatcherDeps,
  watched: WatchedChain,
  head: store.ReadHead,
  onTrouble: (error: unknown) => void,
): Promise<number> {
  const waiting = await store.transfersToSettle(deps.db, BigInt(watched.chain.chainId), AT_ONCE)
  const deep = waiting.filter((transfer) =>
    isDeepEnough(depthFor(watched, transfer.token_address, BigInt(transfer.amount)), transfer.block, head),
  )
  let credited = 0
  const queue = deep.values()
  const work = async () => {
    for (const transfer of queue) {
      // one transfer that cannot be judged now does not keep the others waiting
      const done = await settleOne(deps, watched, transfer).catch((error: unknown) => {
        onTrouble(error)
        return false
      })
      if (done) credited += 1
    }
  }
  await Promise.all(Array.from({ length: ASKED_AT_ONCE }, work))
  return credited
}

async function settleOne(deps: WatcherDeps, watched: WatchedChain, transfer: store.Transfer): Promise<boolean> {
  const verdict = await agreedVerdict(watched, transfer)
  return deps.db.transaction().execute(async (tx) => {
    const locked = await store.lockTransfer(tx, transfer)
    const order = locked?.order_id ? await orders.lock(tx, locked.order_id) : undefined
    if (!locked || !order) return false
    return order.status === 'review_required'
      ? restoreCredited(deps, tx, locked, order)
      : credit(deps, tx, { transfer: locked, order, verdict })
  })
}

/** What every node says about the transfer right now, in the block in which it was found. */
async function agreedVerdict(
  watched: WatchedChain,
  transfer: store.Transfer,
): Promise<Verdict & { kind: 'direct' | 'indirect' }> {
  const expected = {
    chainId: watched.chain.chainId,
    txHash: transfer.tx_hash,
    token: transfer.token_address,
    payer: transfer.payer,
    recipient: transfer.recipient,
    amount: BigInt(transfer.amount),
  }
  const verdicts = await askAll(watched.chain, async (node) =>
    directTransfer(await node.facts(transfer.tx_hash), expected),
  )
  const [first] = verdicts
  const agreed = verdicts.every(
    (verdict) => verdict.kind === first?.kind && 'blockHash' in verdict && verdict.blockHash === transfer.block_hash,
  )
  if (agreed && (first?.kind === 'direct' || first?.kind === 'indirect')) return first
  throw new NodesDisagree(
    `transaction ${transfer.tx_hash} is not confirmed by every node of ${watched.chain.networkName}`,
  )
}

async function credit(
  deps: WatcherDeps,
  tx: Tx,
  {
    transfer,
    order,
    verdict,
  }: {
    transfer: store.Transfer
    order: orders.Order
    verdict: Verdict & { kind: 'direct' | 'indirect' }
  },
): Promise<boolean> {
  const now = deps.clock.now()
  if (!asksForExactly(order, transfer)) return false
  const receivedMicro = BigInt(transfer.amount)
  const refuse = async (reason: lifecycle.ReviewReason, note: string) => {
    await lifecycle.suspect(tx, order, { reason, txHash: transfer.tx_hash, receivedMicro, data: { note } }, now)
    await store.mark(tx, transfer, { state: 'matched', note })
    return false
  }
  if (verdict.kind === 'indirect') return refuse('not_direct', verdict.reason)
  if (!isInTime(order, transfer.block_at, await orders.attempts(tx, order.id)))
    return refuse('late_transfer', `in a block of ${transfer.block_at.toISOString()}`)
  const receipt = {
    chainId: transfer.chain_id,
    txHash: transfer.tx_hash,
    logPosition: transfer.log_position,
  }
  const settled = await lifecycle.settle(tx, order, receipt, now)
  if (settled?.status !== 'completed') return false
  await store.mark(tx, transfer, { state: 'credited', note: null })
  return true
}

/** Pairs with the search for the order: nothing is credited that the order does not ask for, whoever joined them. */
function asksForExactly(order: orders.Order, transfer: store.Transfer): boolean {
  return (
    order.chain_id === transfer.chain_id &&
    order.token_address === transfer.token_address &&
    order.recipient_address === transfer.recipient &&
    order.payer_address === transfer.payer &&
    order.amount_micro === BigInt(transfer.amount) &&
    order.tx_hash === transfer.tx_hash
  )
}

/** The transfer of an order that was credited before a reorganisation is back: nothing is given again. */
async function restoreCredited(
  deps: WatcherDeps,
  tx: Tx,
  transfer: store.Transfer,
  order: orders.Order,
): Promise<boolean> {
  if (order.tx_hash !== transfer.tx_hash || order.grant_id === null) return false
  if (!(await lifecycle.restore(tx, order, deps.clock.now()))) return false
  await store.mark(tx, transfer, { state: 'credited', note: null })
  return true
}
