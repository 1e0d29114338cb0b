import { isDeepEnough } from '../../chains/depth.ts'
import type { Tx } from '../../db/database.ts'
import { accountOfWallet } from '../../identity/accounts/store.ts'
import { MICROCREDITS_MAX } from '../../kernel/money.ts'
import * as lifecycle from '../orders/lifecycle.ts'
import * as orders from '../orders/store.ts'
import * as store from './store.ts'
import { depthFor, type WatchedChain, type WatcherDeps } from './watched.ts'

/** As many transfers are joined in one round. */
const AT_ONCE = 500
/** Anybody can send us this little in anybody's name: it opens no review. */
const DUST_MICRO = 10_000n
/** A hundredth of the order is no attempt to pay it. */
const DUST_DIVISOR = 100n

/**
 * Joins transfers that were seen to the orders that asked for them. What no order asked for is decided once it is
 * deep enough: dust is ignored, a near miss opens a review, everything else waits for an operator as unmatched.
 * A near miss comes last: whoever sent the right amount as well has paid.
 */
export async function joinTransfers(
  deps: WatcherDeps,
  watched: WatchedChain,
  head: store.ReadHead,
  onTrouble: (error: unknown) => void,
): Promise<void> {
  const seen = await store.transfersIn(deps.db, BigInt(watched.chain.chainId), 'seen', head.latest, AT_ONCE)
  const unasked: store.Transfer[] = []
  for (const transfer of seen) {
    // one transfer that cannot be joined now does not keep the others waiting
    const isJoined = await whileSeen(deps, transfer, (tx, locked) => joinExactly(deps, tx, locked)).catch(onTrouble)
    if (isJoined === false) unasked.push(transfer)
  }
  const deep = unasked.filter((transfer) =>
    isDeepEnough(depthFor(watched, transfer.token_address, BigInt(transfer.amount)), transfer.block, head),
  )
  for (const transfer of deep)
    await whileSeen(deps, transfer, (tx, locked) => decide(deps, tx, watched, locked)).catch(onTrouble)
}

/**
 * Works on a transfer whose row is locked and as it was read, and that no x402 payment claims. undefined: another
 * process was faster or is at it, or the other rail has it.
 */
function whileSeen<T>(
  { db }: WatcherDeps,
  transfer: store.Transfer,
  work: (tx: Tx, locked: store.Transfer) => Promise<T>,
): Promise<T | undefined> {
  return db.transaction().execute(async (tx) => {
    const locked = await store.lockTransfer(tx, transfer)
    const otherRail = locked && (await store.otherRail(tx, locked))
    if (!locked || otherRail === 'open') return undefined
    if (otherRail === undefined) return work(tx, locked)
    await store.mark(tx, locked, { state: 'credited', note: 'an x402 payment' })
    return undefined
  })
}

/** Joins a transfer to an order that asked for exactly this, or to the one that it was credited to before a reorganisation. */
async function joinExactly(deps: WatcherDeps, tx: Tx, transfer: store.Transfer): Promise<boolean> {
  const now = deps.clock.now()
  const amountMicro = BigInt(transfer.amount)
  const before = transfer.order_id === null ? undefined : await orders.lock(tx, transfer.order_id)
  if (before?.tx_hash === transfer.tx_hash && before.status !== 'confirming') {
    await takeUpPlace(tx, transfer, before)
    return true
  }
  if (amountMicro > MICROCREDITS_MAX) return false
  const shown = {
    chainId: transfer.chain_id,
    tokenAddress: transfer.token_address,
    recipientAddress: transfer.recipient,
    payerAddress: transfer.payer,
    amountMicro,
    txHash: transfer.tx_hash,
  }
  for (const candidate of await orders.matching(tx, shown)) {
    const order = await orders.lock(tx, candidate.id)
    const seen =
      order && (await lifecycle.see(tx, order, { txHash: transfer.tx_hash, attemptId: deps.random.uuid() }, now))
    if (!seen) continue
    await store.mark(tx, transfer, { state: 'matched', order_id: seen.id, note: null })
    return true
  }
  return false
}

/** A transfer that a reorganisation brings back, after its order was credited for it, reviewed, or closed by an operator. */
async function takeUpPlace(tx: Tx, transfer: store.Transfer, order: orders.Order): Promise<void> {
  if (order.status === 'completed') return store.mark(tx, transfer, { state: 'credited' })
  if (order.status === 'review_required') return store.mark(tx, transfer, { state: 'matched' })
  await store.mark(tx, transfer, {
    state: 'unmatched',
    order_id: null,
    note: `order ${order.id} was closed without it`,
  })
}

async function decide(deps: WatcherDeps, tx: Tx, watched: WatchedChain, transfer: store.Transfer): Promise<void> {
  const now = deps.clock.now()
  const amount = BigInt(transfer.amount)
  const miss = nearMiss(watched, transfer, await orders.waitingOf(tx, transfer.payer, now))
  const share = miss ? miss.order.amount_micro / DUST_DIVISOR : 0n
  if (amount < (share > DUST_MICRO ? share : DUST_MICRO))
    return store.mark(tx, transfer, { state: 'ignored', order_id: null, note: 'dust' })
  if (await claimedByAnotherPayer(deps, tx, transfer)) return
  const order = miss && (await orders.lock(tx, miss.order.id))
  if (order && order.tx_hash === null) {
    const receivedMicro = amount > MICROCREDITS_MAX ? MICROCREDITS_MAX : amount
    const found = { reason: miss.reason, txHash: transfer.tx_hash, receivedMicro }
    if (await lifecycle.suspect(tx, order, found, now))
      return store.mark(tx, transfer, { state: 'matched', order_id: order.id, note: miss.reason })
  }
  await store.mark(tx, transfer, {
    state: 'unmatched',
    order_id: null,
    note: unmatchedBecause(watched, transfer),
  })
}

interface NearMiss {
  readonly order: orders.Order
  readonly reason: lifecycle.ReviewReason
}

/**
 * The order that a transfer is probably meant for, though it asked for something else: another amount of the same
 * token, the same token at another address of ours, or the same amount on another chain. A token that is not
 * accepted may be worth anything, and is meant for none.
 */
function nearMiss(
  watched: WatchedChain,
  transfer: store.Transfer,
  waiting: readonly orders.Order[],
): NearMiss | undefined {
  const isExact = (order: orders.Order) => order.amount_micro === BigInt(transfer.amount)
  const here = waiting.filter(
    (order) => order.chain_id === transfer.chain_id && order.token_address === transfer.token_address,
  )
  const sameRecipient = here.find((order) => order.recipient_address === transfer.recipient)
  if (sameRecipient) return { order: sameRecipient, reason: 'amount_mismatch' }
  const elsewhere = here.find(isExact) ?? here[0]
  if (elsewhere) return { order: elsewhere, reason: 'old_recipient' }
  const otherChain = waiting.find((order) => order.chain_id !== transfer.chain_id && isExact(order))
  return otherChain && isAccepted(watched, transfer) ? { order: otherChain, reason: 'wrong_chain' } : undefined
}

function unmatchedBecause(watched: WatchedChain, transfer: store.Transfer): string {
  return isAccepted(watched, transfer) ? 'no order asked for it' : 'this token is not accepted'
}

function isAccepted(watched: WatchedChain, transfer: store.Transfer): boolean {
  return watched.assets.some((asset) => asset.tokenAddress === transfer.token_address)
}

/**
 * A hash that an order registered and another wallet paid: an exchange's withdrawal is looked into, but a payment
 * that belongs to somebody else's account is not up for claims.
 */
async function claimedByAnotherPayer(deps: WatcherDeps, tx: Tx, transfer: store.Transfer): Promise<boolean> {
  const now = deps.clock.now()
  const owner = await accountOfWallet(tx, transfer.payer)
  for (const claim of await store.claimsByOthers(tx, transfer)) {
    const order = await orders.lock(tx, claim.id)
    if (order?.status !== 'confirming' || order.tx_hash !== null) continue
    const isAnothers = owner !== undefined && owner.id !== order.payer_account_id
    if (isAnothers || (await orders.isBoundElsewhere(tx, transfer.chain_id, transfer.tx_hash, order.id))) {
      await orders.refuseHash(tx, order.id, transfer.tx_hash, 'wrong_payer')
      continue
    }
    const amount = BigInt(transfer.amount)
    const receivedMicro = amount > MICROCREDITS_MAX ? MICROCREDITS_MAX : amount
    if (
      await lifecycle.suspect(tx, order, { reason: 'payer_mismatch', txHash: transfer.tx_hash, receivedMicro }, now)
    ) {
      await store.mark(tx, transfer, {
        state: 'matched',
        order_id: order.id,
        note: 'payer_mismatch',
      })
      return true
    }
  }
  return false
}
