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
 */
export async function joinTransfers(deps: WatcherDeps, watched: WatchedChain, head: store.ReadHead): Promise<void> {
  for (const transfer of await store.transfersIn(
    deps.db,
    BigInt(watched.chain.chainId),
    'seen',
    head.latest,
    AT_ONCE,
  )) {
    await deps.db.transaction().execute(async (tx) => {
      const locked = await store.lockTransfer(tx, transfer)
      const otherRail = locked && (await store.otherRail(tx, locked))
      if (!locked || otherRail === 'open') return
      if (otherRail === 'credited') return store.mark(tx, locked, { state: 'credited', note: 'an x402 payment' })
      if (await joinExactly(deps, tx, locked)) return
      const deep = isDeepEnough(depthFor(watched, locked.token_address, BigInt(locked.amount)), locked.block, head)
      if (deep) await decide(deps, tx, watched, locked)
    })
  }
}

/** Joins a transfer to an order that asked for exactly this, or to the one that it was credited to before a reorganisation. */
async function joinExactly(deps: WatcherDeps, tx: Tx, transfer: store.Transfer): Promise<boolean> {
  const now = deps.clock.now()
  const amountMicro = BigInt(transfer.amount)
  const before = transfer.order_id === null ? undefined : await orders.lock(tx, transfer.order_id)
  if (before?.tx_hash === transfer.tx_hash && before.status !== 'confirming') {
    // its order is in review, or was credited for it: it takes up its place again
    await store.mark(tx, transfer, {
      state: before.status === 'completed' ? 'credited' : 'matched',
    })
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

async function decide(deps: WatcherDeps, tx: Tx, watched: WatchedChain, transfer: store.Transfer): Promise<void> {
  const now = deps.clock.now()
  const amount = BigInt(transfer.amount)
  const waiting = await orders.oldestWaiting(tx, transfer.payer, now)
  const share = waiting ? waiting.amount_micro / DUST_DIVISOR : 0n
  if (amount < (share > DUST_MICRO ? share : DUST_MICRO))
    return store.mark(tx, transfer, { state: 'ignored', order_id: null, note: 'dust' })
  if (await claimedByAnotherPayer(deps, tx, transfer)) return
  const reason = waiting && nearMiss(watched, transfer, waiting)
  const order = waiting && reason && (await orders.lock(tx, waiting.id))
  if (order && order.tx_hash === null) {
    const receivedMicro = amount > MICROCREDITS_MAX ? MICROCREDITS_MAX : amount
    if (await lifecycle.suspect(tx, order, { reason, txHash: transfer.tx_hash, receivedMicro }, now))
      return store.mark(tx, transfer, { state: 'matched', order_id: order.id, note: reason })
  }
  await store.mark(tx, transfer, {
    state: 'unmatched',
    order_id: null,
    note: unmatchedBecause(watched, transfer),
  })
}

/** Why a transfer is probably meant for an order that asked for something else. */
function nearMiss(
  watched: WatchedChain,
  transfer: store.Transfer,
  order: orders.Order,
): lifecycle.ReviewReason | undefined {
  if (order.chain_id !== transfer.chain_id)
    return order.amount_micro === BigInt(transfer.amount) && isAccepted(watched, transfer) ? 'wrong_chain' : undefined
  // a token that is not accepted may be worth anything
  if (order.token_address !== transfer.token_address) return undefined
  return order.recipient_address === transfer.recipient ? 'amount_mismatch' : 'old_recipient'
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
