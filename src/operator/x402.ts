import { Argument } from 'commander'
import type { ProgramSurroundings } from '../app/surroundings.ts'
import { decidePayment } from '../payments/x402/review/service.ts'
import * as store from '../payments/x402/store.ts'
import { exitCodes, ProgramFault } from '../terminal/exit-codes.ts'
import { parseId, parseLimit, withJson } from '../terminal/options.ts'
import { age, amount, fields, print, table, time } from '../terminal/output.ts'
import { addDecisions } from './decisions.ts'
import type { AddCommands } from './program.ts'
import { withDatabase } from './session.ts'

/** `farebox x402 list|show|credit|refund|dismiss`: x402 payments that need somebody. */
export const x402Commands: AddCommands = (program, around) => {
  const x402 = program.command('x402').description('x402 payments that are on their way or need a decision')
  withJson(x402.command('list').description('list payments that are open or in review, oldest first'))
    .option('--limit <n>', 'how many', parseLimit, 100)
    .action((options: { limit: number; json?: boolean }) => list(around, options))
  const id = () => new Argument('<payment>').argParser(parseId)
  withJson(x402.command('show').description('show a payment and all that happened to it').addArgument(id())).action(
    (payment: bigint, options: { json?: boolean }) => show(around, payment, options),
  )
  addDecisions(x402, around, {
    argument: id,
    decide: decidePayment,
    data: (payment) => ({ payment_id: Number(payment) }),
  })
}

async function list(around: ProgramSurroundings, options: { limit: number; json?: boolean }): Promise<void> {
  await withDatabase(around, 'listing x402 payments', async ({ db }) => {
    const payments = await store.unfinished(db, options.limit)
    const nowMs = around.clock.now().getTime()
    const rows = payments.map((payment) => [
      String(payment.id),
      payment.status,
      payment.reason ?? '',
      age((nowMs - payment.created_at.getTime()) / 1000),
      payment.payer,
      `${payment.amount_micro} micro`,
    ])
    print(around, options, {
      data: { payments: payments.map(withoutSignature) },
      text:
        rows.length === 0
          ? 'No x402 payment is open or in review.'
          : table(['PAYMENT', 'STATUS', 'REASON', 'AGE', 'PAYER', 'AMOUNT'], rows, ['AMOUNT']),
    })
  })
}

async function show(around: ProgramSurroundings, id: bigint, options: { json?: boolean }): Promise<void> {
  await withDatabase(around, 'reading the payment', async ({ db }) => {
    const payment = await store.find(db, id)
    if (!payment) throw new ProgramFault(exitCodes.failed, `There is no x402 payment ${id}.`)
    const events = await store.events(db, id)
    const happened = events.map(({ at, event, to_status, data }) => [time(at), event, to_status, JSON.stringify(data)])
    print(around, options, {
      data: { payment: withoutSignature(payment), events },
      text: `${fields([
        ['payment', String(payment.id)],
        ['status', payment.status],
        ['reason', payment.reason],
        ['payer', payment.payer],
        ['pays to', payment.recipient_address],
        ['credited', `account ${payment.account_id}`],
        ['amount', `${payment.amount_micro} micro ${payment.asset_id} for ${amount(payment.credit_micro)}`],
        ['nonce', payment.nonce],
        ['sent by', payment.settler],
        ['transaction', payment.tx_hash],
        ['made', time(payment.created_at)],
      ])}\n\n${table(['AT', 'EVENT', 'STATUS', 'DATA'], happened)}`,
    })
  })
}

/** Whoever has an authorization could still send it: it is nobody's to copy from a terminal. */
function withoutSignature({ signature: _, ...payment }: Awaited<ReturnType<typeof store.unfinished>>[number]) {
  return payment
}
