import { Argument } from 'commander'
import type { ProgramSurroundings } from '../app/surroundings.ts'
import { inCredits } from '../kernel/money.ts'
import type { Receipt } from '../payments/orders/crediting/store.ts'
import * as reading from '../payments/orders/reading/store.ts'
import type { Decided, Decision, ReviewDeps } from '../payments/orders/review/decision.ts'
import { decideOrder, decideTransfer } from '../payments/orders/review/service.ts'
import * as store from '../payments/orders/review/store.ts'
import { parseTransferId, transferId } from '../payments/orders/review/transfer-id.ts'
import { exitCodes, ProgramFault } from '../terminal/exit-codes.ts'
import { parseLimit, withJson } from '../terminal/options.ts'
import { age, amount, fields, print, table, time } from '../terminal/output.ts'
import { addDecisions, type DecisionOptions } from './decisions.ts'
import { findAccount } from './find-account.ts'
import type { AddCommands } from './program.ts'
import { type Session, withDatabase } from './session.ts'

const EVENTS_SHOWN_MAX = 100

/** `farebox review list|show|credit|refund|dismiss`: payments that could not be credited by themselves. */
export const reviewCommands: AddCommands = (program, around) => {
  const review = program.command('review').description('payments that could not be credited by themselves')
  withJson(review.command('list').description('list orders in review and transfers without an order'))
    .option('--limit <n>', 'how many of each', parseLimit, 100)
    .action((options: { limit: number; json?: boolean }) => list(around, options))
  withJson(review.command('show <payment>').description('show an order, or a transfer without one')).action(
    (named: string, options: { json?: boolean }) => show(around, named, options),
  )
  addDecisions(review, around, {
    argument: () => new Argument('<payment>'),
    decide,
    data: (payment) => ({ payment }),
  }).option('--account <account>', 'whom to credit for a transfer without an order')
}

async function list(around: ProgramSurroundings, options: { limit: number; json?: boolean }): Promise<void> {
  await withDatabase(around, 'listing reviews', async ({ db }) => {
    const [orders, transfers] = await Promise.all([
      store.ordersInReview(db, options.limit),
      store.unmatchedTransfers(db, options.limit),
    ])
    const since = (at: Date) => age((around.clock.now().getTime() - at.getTime()) / 1000)
    const rows = [
      ...orders.map((order) => [
        order.id,
        order.review_reason ?? '',
        since(order.review_opened_at ?? order.created_at),
        String(order.payer_account_id),
        inCredits(order.received_micro ?? 0n),
        inCredits(order.amount_micro),
      ]),
      ...transfers.map((transfer) => [
        transferId(keyOf(transfer)),
        'unmatched',
        since(transfer.block_at),
        transfer.payer,
        inCredits(BigInt(transfer.amount)),
        '-',
      ]),
    ]
    const head = ['PAYMENT', 'REASON', 'AGE', 'PAYER', 'RECEIVED', 'ASKED']
    print(around, options, {
      data: {
        orders: orders.map((order) => ({
          id: order.id,
          reason: order.review_reason,
          opened_at: order.review_opened_at,
          payer_account_id: order.payer_account_id,
          account_id: order.account_id,
          asset_id: order.asset_id,
          amount_micro: order.amount_micro,
          received_micro: order.received_micro,
          tx_hash: order.tx_hash,
        })),
        transfers: transfers.map(transferData),
      },
      text:
        rows.length === 0
          ? 'Nothing is in review.'
          : `${table(head, rows, ['RECEIVED', 'ASKED'])}\n\nRECEIVED and ASKED are units of the asset. Next: farebox review show <payment>`,
    })
  })
}

async function show(around: ProgramSurroundings, named: string, options: { json?: boolean }): Promise<void> {
  const key = parseTransferId(named)
  await withDatabase(around, 'reading the payment', ({ db }) =>
    key ? showTransfer(around, db, key, options) : showOrder(around, db, named, options),
  )
}

async function showTransfer(
  around: ProgramSurroundings,
  db: Session['db'],
  key: Receipt,
  options: { json?: boolean },
): Promise<void> {
  const transfer = await store.findTransfer(db, key)
  if (!transfer) throw new ProgramFault(exitCodes.failed, `There is no transfer ${transferId(key)}.`)
  const decided =
    transfer.resolution === null ? null : `${transfer.resolved_at === null ? 'proposed: ' : ''}${transfer.resolution}`
  print(around, options, {
    data: { transfer: transferData(transfer) },
    text: fields([
      ['transfer', transferId(key)],
      ['state', transfer.state],
      ['order', transfer.order_id],
      ['token', transfer.token_address],
      ['from', transfer.payer],
      ['to', transfer.recipient],
      ['amount', `${transfer.amount} micro`],
      ['block', `${transfer.block} at ${time(transfer.block_at)}`],
      ['note', transfer.note],
      ['decision', decided],
    ]),
  })
}

async function showOrder(
  around: ProgramSurroundings,
  db: Session['db'],
  id: string,
  options: { json?: boolean },
): Promise<void> {
  const order = await reading.read(db, orderId(id))
  if (!order) throw new ProgramFault(exitCodes.failed, `There is no order ${id}.`)
  const events = await reading.events(db, order.id, EVENTS_SHOWN_MAX)
  const happened = events.map((event) => [
    time(event.at),
    event.event,
    event.to_status,
    event.actor,
    JSON.stringify(event.data),
  ])
  print(around, options, {
    data: {
      order: { ...order, idempotency_fingerprint: undefined, status: order.status },
      events,
    },
    text: `${fields([
      ['order', order.id],
      ['status', order.status],
      ['reason', order.review_reason],
      ['payer', `account ${order.payer_account_id}, ${order.payer_address}`],
      ['credited', `account ${order.account_id}`],
      ['asset', order.asset_id],
      ['asked', `${order.amount_micro} micro for ${amount(order.credit_micro)}`],
      ['received', order.received_micro === null ? null : `${order.received_micro} micro`],
      ['held', order.review_held_micro === null ? null : amount(order.review_held_micro)],
      ['transaction', order.tx_hash],
      ['made', time(order.created_at)],
      ['expires', time(order.expires_at)],
    ])}\n\n${table(['AT', 'EVENT', 'STATUS', 'BY', 'DATA'], happened)}`,
  })
}

async function decide(
  deps: ReviewDeps,
  named: string,
  wanted: Decision,
  { account: credited }: DecisionOptions,
): Promise<Decided> {
  const account = credited === undefined ? undefined : await findAccount(deps.db, credited)
  const key = parseTransferId(named)
  if (key) return decideTransfer(deps, key, account ? { ...wanted, accountId: account.id } : wanted)
  if (account) throw new ProgramFault(exitCodes.usage, 'An order names its account itself: leave --account out.')
  return decideOrder(deps, orderId(named), wanted)
}

function orderId(text: string): string {
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)) return text.toLowerCase()
  throw new ProgramFault(
    exitCodes.usage,
    'That is no order id and no transfer: `farebox review list` names them in its first column.',
  )
}

const keyOf = (transfer: store.Transfer): Receipt => ({
  chainId: transfer.chain_id,
  txHash: transfer.tx_hash,
  logPosition: transfer.log_position,
})

const transferData = (transfer: store.Transfer) => ({
  id: transferId(keyOf(transfer)),
  state: transfer.state,
  order_id: transfer.order_id,
  token_address: transfer.token_address,
  payer: transfer.payer,
  recipient: transfer.recipient,
  amount: transfer.amount,
  block: transfer.block,
  block_at: transfer.block_at,
  note: transfer.note,
  resolution: transfer.resolution,
  resolved_at: transfer.resolved_at,
})
