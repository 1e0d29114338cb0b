import { Argument, InvalidArgumentError, Option } from 'commander'
import type { CallRecord } from '../../sdk/src/index.ts'
import { parseId, parseLimit, parseMoment } from '../terminal/options.ts'
import { fields, table } from '../terminal/output.ts'
import { asUser } from './client.ts'
import { credits, creditsOrDash, moment } from './form.ts'
import {
  type AddClientCommands,
  type ClientSurroundings,
  type OutputOptions,
  show,
  withOutput,
} from './surroundings.ts'

const STATUSES = ['running', 'success', 'failed', 'usage_unknown', 'pending_settlement'] as const
const DIMENSIONS = ['day', 'model', 'agent', 'key'] as const

/** `farebox calls list|show` and `farebox usage`. */
export const callsCommands: AddClientCommands = (program, here) => {
  const calls = program.command('calls').description('the calls that you made or paid for')
  withOutput(
    calls
      .command('list', { isDefault: true })
      .description('list calls, newest first')
      .option('--limit <n>', 'how many, at most 100', parseLimit, 20)
      .option('--model <id>', 'of this model only')
      .addOption(new Option('--status <status>', 'with this status only').choices(STATUSES))
      .option('--from <time>', 'since this day or time, such as 2027-01-31', parseMoment)
      .option('--to <time>', 'before this day or time', parseMoment),
  ).action((options: CallsOptions) => list(here, options))
  withOutput(
    calls
      .command('show')
      .description('show a call: usage, price, cost and who paid')
      .addArgument(new Argument('<id>').argParser(parseId)),
  ).action((id: bigint, options: OutputOptions) => showOne(here, id, options))
  withOutput(
    program
      .command('usage')
      .description('sum up Credits, calls, errors and tokens')
      .option('--by <dimensions>', `any of ${DIMENSIONS.join(', ')}, joined by commas`, parseDimensions, 'day')
      .option('--from <time>', 'since this day or time, such as 2027-01-31', parseMoment)
      .option('--to <time>', 'before this day or time', parseMoment),
  ).action((options: UsageOptions) => usage(here, options))
}

interface Period {
  readonly from?: Date
  readonly to?: Date
}

interface CallsOptions extends OutputOptions, Period {
  readonly limit: number
  readonly model?: string
  readonly status?: CallRecord['status']
}

interface UsageOptions extends OutputOptions, Period {
  readonly by: string
}

function parseDimensions(text: string): string {
  const asked = text.split(',').map((name) => name.trim())
  if (asked.some((name) => !DIMENSIONS.some((known) => known === name)))
    throw new InvalidArgumentError(`It takes any of ${DIMENSIONS.join(', ')}, joined by commas.`)
  return asked.join(',')
}

const periodOf = ({ from, to }: Period): { from?: string; to?: string } => ({
  ...(from === undefined ? {} : { from: from.toISOString() }),
  ...(to === undefined ? {} : { to: to.toISOString() }),
})

async function list(here: ClientSurroundings, options: CallsOptions): Promise<void> {
  await asUser(here, 'listing calls', async ({ client }) => {
    const { model, status } = options
    const data = await client.request('GET', '/v1/calls', {
      query: {
        limit: Math.min(options.limit, 100),
        ...(model === undefined ? {} : { model }),
        ...(status === undefined ? {} : { status }),
        ...periodOf(options),
      },
    })
    const rows = data.data.map((call) => [
      String(call.call_id),
      moment(call.created_at),
      call.model,
      call.status,
      credits(call.charged_micro),
      call.refundable ? 'yes' : '-',
    ])
    const head = ['CALL', 'TIME', 'MODEL', 'STATUS', 'CHARGED', 'REFUNDABLE']
    const more = data.next_cursor === 0 ? '' : '\nThere are more: raise --limit, or narrow with --from and --to.'
    show(here, options, {
      data,
      text: rows.length === 0 ? 'There are no such calls.' : table(head, rows, ['CALL', 'CHARGED']) + more,
    })
  })
}

async function showOne(here: ClientSurroundings, id: bigint, options: OutputOptions): Promise<void> {
  await asUser(here, 'reading the call', async ({ client }) => {
    const { data: call } = await client.request('GET', '/v1/calls/{id}', { path: { id: Number(id) } })
    const funding = call.funding.map((part) => [
      `#${part.account_id}`,
      part.bucket,
      credits(part.reserved_amount_micro),
      credits(part.amount_micro),
    ])
    const summary = fields([
      ['call', String(call.call_id)],
      ['request', call.request_id],
      ['model', call.model],
      ['status', call.status],
      ['outcome', call.outcome],
      ['billing', call.billing_state],
      ['held', `${credits(call.reserve_amount_micro)} Credits`],
      [
        'cost',
        call.actual_amount_micro === null ? 'not known yet' : `${creditsOrDash(call.actual_amount_micro)} Credits`,
      ],
      ['charged', `${credits(call.charged_micro)} Credits`],
      [
        'refund',
        call.refundable ? `possible: farebox refunds apply ${call.call_id}` : (call.refund_reason_not ?? undefined),
      ],
      ['begun', moment(call.created_at)],
      ['ended', call.resolved_at === null ? undefined : moment(call.resolved_at)],
    ])
    const payers = table(['PAYER', 'CREDITS', 'HELD', 'CHARGED'], funding, ['HELD', 'CHARGED'])
    show(here, options, { data: call, text: funding.length === 0 ? summary : `${summary}\n\n${payers}` })
  })
}

async function usage(here: ClientSurroundings, options: UsageOptions): Promise<void> {
  await asUser(here, 'summing up', async ({ client }) => {
    const data = await client.credits.usage({ groupBy: options.by.split(','), ...periodOf(options) })
    const names = data.group_by.map((dimension) => dimension.toUpperCase())
    const sums = ({ charged_micro, calls, errors, input_tokens, output_tokens }: typeof data.totals): string[] => [
      credits(charged_micro),
      ...[calls, errors, input_tokens, output_tokens].map(String),
    ]
    const rows = data.data.map((row) => {
      const values: Readonly<Record<string, unknown>> = {
        day: row.day,
        model: row.model,
        agent: row.actor_account_id,
        key: row.key_id ?? 'session',
      }
      return [
        ...data.group_by.map((dimension) => (row.other ? 'other' : String(values[dimension] ?? '-'))),
        ...sums(row),
      ]
    })
    const total = ['total', ...names.slice(1).map(() => ''), ...sums(data.totals)]
    const numbers = ['CREDITS', 'CALLS', 'ERRORS', 'TOKENS IN', 'TOKENS OUT']
    const period = `${moment(data.from)} to ${moment(data.to)}`
    show(here, options, { data, text: `${period}\n\n${table([...names, ...numbers], [...rows, total], numbers)}` })
  })
}
