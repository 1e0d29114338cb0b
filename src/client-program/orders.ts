import type { Order } from '../../sdk/src/index.ts'
import { exitCodes, ProgramFault } from '../terminal/exit-codes.ts'
import { parseLimit } from '../terminal/options.ts'
import { fields, table } from '../terminal/output.ts'
import { asUser } from './client.ts'
import { credits, moment } from './form.ts'
import {
  type AddClientCommands,
  type ClientSurroundings,
  type OutputOptions,
  show,
  withOutput,
} from './surroundings.ts'

/** `farebox orders list|show`. */
export const ordersCommands: AddClientCommands = (program, here) => {
  const orders = program.command('orders').description('your orders of Credits; they are made and paid at /topup')
  withOutput(
    orders
      .command('list', { isDefault: true })
      .description('list your orders, newest first')
      .option('--limit <n>', 'how many, at most 100', parseLimit, 20),
  ).action((options: OutputOptions & { limit: number }) => list(here, options))
  withOutput(
    orders
      .command('show <id>')
      .description('show an order with what happened to it; exit code 6 while it is under review')
      .option('--wait', 'wait until it is completed, expired or under review'),
  ).action((id: string, options: OutputOptions & { wait?: boolean }) => showOne(here, id, options))
}

async function list(here: ClientSurroundings, options: OutputOptions & { limit: number }): Promise<void> {
  await asUser(here, 'listing your orders', async ({ client }) => {
    const data = await client.request('GET', '/v1/payments/orders', { query: { limit: Math.min(options.limit, 100) } })
    const rows = data.data.map((order) => [
      order.id,
      order.status,
      `${credits(order.amount_micro)} ${order.token_symbol}`,
      credits(order.credit_micro),
      moment(order.created_at),
      order.tx_hash || '-',
    ])
    const head = ['ORDER', 'STATUS', 'PAYS', 'CREDITS', 'CREATED', 'TRANSACTION']
    const none = 'You made no orders. `farebox topup` buys Credits without one.'
    const more = data.next_cursor === null ? '' : '\nThere are more: raise --limit, or open the console.'
    show(here, options, {
      data,
      text: rows.length === 0 ? none : table(head, rows, ['PAYS', 'CREDITS']) + more,
    })
  })
}

async function showOne(
  here: ClientSurroundings,
  id: string,
  options: OutputOptions & { wait?: boolean },
): Promise<void> {
  await asUser(here, options.wait ? 'waiting for the order' : 'reading the order', async ({ client }) => {
    const order = await (options.wait ? client.orders.wait(id) : client.orders.read(id))
    const events = (order.events ?? []).map(({ event, from, to, at }) => [moment(at), event, from ?? '-', to])
    const history = events.length === 0 ? '' : `\n\n${table(['TIME', 'EVENT', 'FROM', 'TO'], events)}`
    show(here, options, { data: order, text: orderFields(order) + history })
    if (order.status === 'review_required')
      throw new ProgramFault(
        exitCodes.review,
        `The payment is looked at by the operator (${order.review?.reason ?? 'no reason given'}). Do not pay again; the order says when it is decided.`,
      )
  })
}

const orderFields = (order: Order): string =>
  fields([
    ['order', order.id],
    ['status', order.status],
    ['pays', `${credits(order.amount_micro)} ${order.token_symbol} on ${order.network_name}`],
    ['from', order.payer_address],
    ['to', order.recipient_address],
    ['gives', `${credits(order.credit_micro)} Credits to account #${order.account_id}`],
    ['confirmations', `${order.confirmations} of ${order.required_confirmations}`],
    ['transaction', order.tx_hash || undefined],
    ['created', moment(order.created_at)],
    ['expires', moment(order.expires_at)],
    ['completed', order.completed_at === null ? undefined : moment(order.completed_at)],
    ['review', order.review?.reason],
  ])
