import type { Tx } from '../../db/database.ts'
import type { Caller } from '../../kernel/caller.ts'
import { Fault } from '../../kernel/errors.ts'
import { lockLapsed } from './making/store.ts'
import { type OrdersDeps, refuseWhileInReview } from './service.ts'
import { advance, extendedExpiry, HASHES_MAX, isMove, statusAt, stepOf } from './states.ts'
import * as store from './store.ts'

/** What the payer does with an order: each verb is one transaction on its locked row. */

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Reserves the single send attempt, before any transaction hash exists. Sends no funds. */
export async function reserveAttempt(
  deps: OrdersDeps,
  caller: Caller,
  id: string,
): Promise<{ readonly order: store.Order; readonly attemptId: string }> {
  const wallets = await deps.payerWallets(caller.accountId)
  const reserved = await deps.db.transaction().execute(async (tx) => {
    const order = await lockOwn(tx, caller, id)
    const now = deps.clock.now()
    const to = advance(order, 'reserve', now)
    await refuseWhileInReview(tx, caller.accountId)
    refuseChangedWallet(order, wallets)
    const attemptId = deps.random.uuid()
    await store.startAttempt(tx, { id: attemptId, orderId: order.id, source: 'reserved', at: now })
    const moved = await store.move(tx, order, {
      event: 'reserve',
      to,
      actor: actor(caller),
      at: now,
      change: { payment_attempt_id: attemptId },
      data: { attempt_id: attemptId },
    })
    return { order: moved, attemptId }
  })
  deps.chains.wake(reserved.order.chain_id)
  return reserved
}

/** Takes back an attempt of which the wallet said that nothing was sent. Saying it again gives the same order. */
export async function rejectAttempt(
  deps: OrdersDeps,
  caller: Caller,
  id: string,
  attemptId: string,
): Promise<store.Order> {
  return deps.db.transaction().execute(async (tx) => {
    const order = await lockOwn(tx, caller, id)
    const now = deps.clock.now()
    const attempt = (await store.attempts(tx, order.id)).find((candidate) => candidate.id === attemptId.toLowerCase())
    if (!attempt) throw new Fault('attempt_not_found')
    if (attempt.state === 'rejected' && (order.status === 'pending' || order.status === 'expired')) return order
    const to = advance(order, 'reject', now)
    if (attempt.id !== order.payment_attempt_id) throw new Fault('attempt_not_current')
    const waiting = (await store.hashes(tx, order.id)).some((hash) => hash.refused === null)
    if (waiting || order.tx_hash !== null || (await store.hasTransfer(tx, order.id)))
      throw new Fault('attempt_has_payment')
    await store.endAttempt(tx, order.id, 'rejected', now)
    return store.move(tx, order, {
      event: 'reject',
      to,
      actor: actor(caller),
      at: now,
      change: { payment_attempt_id: null },
      data: { attempt_id: attempt.id },
    })
  })
}

/** Gives an order another 30 minutes; a lapsed one comes back. Everything else about it stays as it was. */
export async function resumeOrder(deps: OrdersDeps, caller: Caller, id: string): Promise<store.Order> {
  const wallets = await deps.payerWallets(caller.accountId)
  return deps.db.transaction().execute(async (tx) => {
    const order = await lockOwn(tx, caller, id)
    const now = deps.clock.now()
    const to = advance(order, 'resume', now)
    if (
      order.tx_hash !== null ||
      (await store.hashes(tx, order.id)).length > 0 ||
      (await store.hasTransfer(tx, order.id))
    )
      throw new Fault('payment_recorded')
    await refuseWhileInReview(tx, caller.accountId)
    refuseChangedWallet(order, wallets)
    const expiresAt = extendedExpiry(order, now)
    if (!expiresAt) throw new Fault('resume_limit')
    return store.move(tx, order, {
      event: 'resume',
      to,
      actor: actor(caller),
      at: now,
      change: { expires_at: expiresAt },
      data: { expires_at: expiresAt.toISOString() },
    })
  })
}

/** Remembers a hash as a hint of where to look. It proves nothing, excludes nobody, and no node is asked here. */
export async function registerHash(deps: OrdersDeps, caller: Caller, id: string, given: string): Promise<store.Order> {
  if (!/^0x[0-9a-fA-F]{64}$/.test(given)) throw new Fault('invalid_tx_hash', { fields: { field: 'tx_hash' } })
  const txHash = given.toLowerCase()
  const registered = await deps.db.transaction().execute(async (tx) => {
    const order = await lockOwn(tx, caller, id)
    const now = deps.clock.now()
    const known = await store.hashes(tx, order.id)
    if (order.tx_hash === txHash || known.some((hash) => hash.tx_hash === txHash)) return order
    if (await store.isBoundElsewhere(tx, order.chain_id, txHash, order.id)) throw new Fault('tx_already_used')
    const to = advance(order, 'register', now)
    if (known.length >= HASHES_MAX) throw new Fault('too_many_hashes')
    await store.addHash(tx, order, txHash, now)
    const reserved = order.status === 'confirming' ? order.payment_attempt_id : null
    const attemptId = reserved ?? deps.random.uuid()
    if (reserved === null)
      await store.startAttempt(tx, {
        id: attemptId,
        orderId: order.id,
        source: 'registered',
        at: now,
      })
    return store.move(tx, order, {
      event: 'register',
      to,
      actor: actor(caller),
      at: now,
      change: { payment_attempt_id: attemptId },
      data: { tx_hash: txHash },
    })
  })
  deps.chains.wake(registered.chain_id)
  return registered
}

/** The order, when this caller made it. */
export async function ownOrder(deps: Pick<OrdersDeps, 'db'>, caller: Caller, id: string): Promise<store.Order> {
  return owned(UUID.test(id) ? await store.find(deps.db, id) : undefined, caller)
}

/** Writes down what every read says already: orders whose time is over. Gives how many. */
export async function sweepLapsed(deps: Pick<OrdersDeps, 'db' | 'clock'>, limit: number): Promise<number> {
  return deps.db.transaction().execute(async (tx) => {
    const now = deps.clock.now()
    const lapsed = await lockLapsed(tx, now, limit)
    for (const order of lapsed) {
      const to = stepOf(order, 'lapse', now)
      if (isMove(to) && statusAt(order, now) === to)
        await store.move(tx, order, { event: 'lapse', to, actor: 'sweeper', at: now })
    }
    return lapsed.length
  })
}

async function lockOwn(tx: Tx, caller: Caller, id: string): Promise<store.Order> {
  return owned(await store.lock(tx, id), caller)
}

function owned(order: store.Order | undefined, caller: Caller): store.Order {
  if (!order) throw new Fault('order_not_found')
  if (order.payer_account_id !== caller.accountId)
    throw new Fault('not_original_account', { message: 'This order was made by another account.' })
  return order
}

function refuseChangedWallet(order: store.Order, wallets: readonly string[]): void {
  if (wallets.some((wallet) => wallet.toLowerCase() === order.payer_address)) return
  throw new Fault('wallet_changed', {
    message: `This order is to be paid from ${order.payer_address}, which is no longer linked to the account. Link it again, or make a new order.`,
  })
}

const actor = (caller: Caller): string => `account:${caller.accountId}`
