import { Argument } from 'commander'
import { exitCodes, ProgramFault } from '../terminal/exit-codes.ts'
import { parseId, parseLimit, withReason } from '../terminal/options.ts'
import { table } from '../terminal/output.ts'
import { asUser } from './client.ts'
import { credits, moment } from './form.ts'
import {
  type AddClientCommands,
  type ClientSurroundings,
  type OutputOptions,
  show,
  withOutput,
} from './surroundings.ts'

/** `farebox refunds list|apply`. */
export const refundsCommands: AddClientCommands = (program, here) => {
  const refunds = program.command('refunds').description('refunds of failed calls that were charged')
  withOutput(
    refunds
      .command('list', { isDefault: true })
      .description('list your refunds, newest first')
      .option('--limit <n>', 'how many, at most 100', parseLimit, 20),
  ).action((options: OutputOptions & { limit: number }) => list(here, options))
  withReason(
    withOutput(
      refunds
        .command('apply')
        .description('ask for the Credits of a failed call; asking twice is asking once. Takes a session')
        .addArgument(new Argument('<call>').argParser(parseId)),
    ),
  ).action((call: bigint, options: OutputOptions & { reason: string }) => apply(here, call, options))
}

async function list(here: ClientSurroundings, options: OutputOptions & { limit: number }): Promise<void> {
  await asUser(here, 'listing your refunds', async ({ client }) => {
    const query = { page: 1, per_page: Math.min(options.limit, 100) }
    const data = await client.request('GET', '/v1/refunds', { query })
    const rows = data.refunds.map((refund) => [
      String(refund.id),
      String(refund.call_id),
      refund.status,
      credits(refund.amount_micro),
      moment(refund.created_at),
      refund.reason,
    ])
    const head = ['REFUND', 'CALL', 'STATUS', 'CREDITS', 'CREATED', 'REASON']
    const none = 'You have no refunds. `farebox calls` shows which calls can be refunded.'
    const more = data.total > rows.length ? `\n${rows.length} of ${data.total}: raise --limit.` : ''
    show(here, options, {
      data,
      text: rows.length === 0 ? none : table(head, rows, ['REFUND', 'CALL', 'CREDITS']) + more,
    })
  })
}

async function apply(
  here: ClientSurroundings,
  call: bigint,
  options: OutputOptions & { reason: string },
): Promise<void> {
  await asUser(here, 'asking for the refund', async ({ client }) => {
    const data = await client.request('POST', '/v1/refunds/apply', {
      body: { call_id: Number(call), reason: options.reason },
    })
    const { refund, status } = data
    show(here, options, {
      data,
      text: `Refund ${refund.id} of call ${refund.call_id} is ${status}: ${credits(refund.amount_micro)} Credits.`,
    })
    if (status === 'review_required')
      throw new ProgramFault(
        exitCodes.review,
        `The operator decides about refund ${refund.id}; \`farebox refunds\` shows it.\n(request ${data.request_id})`,
      )
  })
}
