import * as lifecycle from '../src/payments/orders/lifecycle.ts'
import { isInTime } from '../src/payments/orders/states.ts'
import * as store from '../src/payments/orders/store.ts'
import type { TestDatabase } from './database.ts'
import { devUsdc, type ordersFixture } from './orders-fixture.ts'

/** A transfer as the database keeps it. */
export type Row = {
  tx_hash: string
  amount: string
  state: string
  order_id: string | null
  block_at: Date
}

/** A watcher in small: it finds the order of a transfer, or a review, or leaves it unmatched, as the wrong cases say. */
export function smallWatcher({
  database,
  it,
  payerWallet,
}: {
  database: TestDatabase
  it: ReturnType<typeof ordersFixture>
  payerWallet: string
}) {
  const now = () => it.clock.now()
  const join = (hash: string, state: string, orderId: string | null) =>
    database.sql('update chain_transfers set state = $2, order_id = $3 where tx_hash = $1', [hash, state, orderId])

  const place = (hash: string) => placeTransfer(database, it, payerWallet, hash)

  async function settle(hash: string): Promise<void> {
    const [row] = await database.sql<Row>('select * from chain_transfers where tx_hash = $1', [hash])
    if (row?.state !== 'matched' || row.order_id === null) return
    const done = await it.locked(row.order_id, (tx, order) =>
      order.status === 'review_required'
        ? lifecycle.restore(tx, order, now())
        : lifecycle.settle(tx, order, { chainId: 31337n, txHash: hash, logPosition: 0 }, now()),
    )
    if (done?.status === 'completed') await join(hash, 'credited', row.order_id)
  }

  async function reorganise(hash: string): Promise<void> {
    const [row] = await database.sql<Row>('select * from chain_transfers where tx_hash = $1 and resolved_at is null', [
      hash,
    ])
    if (!row || row.order_id === null) return
    if (row.state === 'matched' && (await it.locked(row.order_id, (tx, order) => lifecycle.orphan(tx, order, now())))) {
      // gone, and in another block a moment later
      await join(hash, 'seen', null)
      await place(hash)
    } else if (
      row.state === 'credited' &&
      (await it.locked(row.order_id, (tx, order) => lifecycle.undo(tx, order, now())))
    ) {
      await join(hash, 'orphaned', row.order_id)
    } else if (row.state === 'orphaned') {
      // on the chain again: it takes up its place
      const order = await store.find(database.db, row.order_id)
      if (order?.status === 'completed') await join(hash, 'credited', row.order_id)
      else if (order?.status === 'review_required') await join(hash, 'matched', row.order_id)
      else await join(hash, 'unmatched', null)
    }
  }
  return { place, settle, reorganise }
}

/** Finds the order of a transfer, or a review, or leaves it unmatched, as the wrong cases say. */
async function placeTransfer(
  database: TestDatabase,
  it: ReturnType<typeof ordersFixture>,
  payerWallet: string,
  hash: string,
): Promise<void> {
  await database.db.transaction().execute(async (tx) => {
    const row = await tx
      .selectFrom('chain_transfers')
      .selectAll()
      .where('tx_hash', '=', hash)
      .forUpdate()
      .executeTakeFirst()
    if (row?.state !== 'seen') return
    const shown = {
      chainId: 31337n,
      tokenAddress: devUsdc.token_address,
      recipientAddress: devUsdc.recipient_address,
      payerAddress: payerWallet,
      amountMicro: BigInt(row.amount),
      txHash: hash,
    }
    const direct = row.note !== 'router'
    const candidates = await store.matching(tx, shown)
    const order = candidates[0] && (await store.lock(tx, candidates[0].id))
    let joined: store.Order | undefined
    if (order && direct && isInTime(order, row.block_at, await store.attempts(tx, order.id)))
      joined = await lifecycle.see(tx, order, { txHash: hash, attemptId: it.deps.random.uuid() }, it.clock.now())
    else if (order)
      joined = await lifecycle.suspect(
        tx,
        order,
        {
          reason: direct ? 'late_transfer' : 'not_direct',
          txHash: hash,
          receivedMicro: shown.amountMicro,
        },
        it.clock.now(),
      )
    else {
      const [waiting] = await store.waitingOf(tx, payerWallet, it.clock.now())
      const locked = waiting && (await store.lock(tx, waiting.id))
      if (locked && locked.tx_hash === null)
        joined = await lifecycle.suspect(
          tx,
          locked,
          { reason: 'amount_mismatch', txHash: hash, receivedMicro: shown.amountMicro },
          it.clock.now(),
        )
    }
    await tx
      .updateTable('chain_transfers')
      .set({ state: joined ? 'matched' : 'unmatched', order_id: joined?.id ?? null })
      .where('tx_hash', '=', hash)
      .execute()
  })
}
