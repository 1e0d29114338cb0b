import { Option } from 'commander'
import type { SettlementItem } from '../../sdk/src/index.ts'
import { parseLimit } from '../terminal/options.ts'
import { table } from '../terminal/output.ts'
import { asUser } from './client.ts'
import { confirmed } from './confirmation.ts'
import { credits } from './form.ts'
import {
  type AddClientCommands,
  type ClientSurroundings,
  type OutputOptions,
  show,
  withOutput,
} from './surroundings.ts'

/** `farebox settlements list|authorize`. */
export const settlementsCommands: AddClientCommands = (program, here) => {
  const settlements = program.command('settlements').description('calls that cost more than was held for them')
  withOutput(
    settlements
      .command('list', { isDefault: true })
      .description('list what waits for its settlement, newest first. Takes a session')
      .addOption(new Option('--state <state>', 'what is shown').choices(['open', 'all']).default('open'))
      .option('--limit <n>', 'how many, at most 100', parseLimit, 20),
  ).action((options: ListOptions) => list(here, options))
  withOutput(
    settlements
      .command('authorize <request>')
      .description('agree to pay what a call cost above its hold; doing so twice is doing so once. Takes a session')
      .option('--yes', 'pay without being asked'),
  ).action((requestId: string, options: OutputOptions & { yes?: boolean }) => authorize(here, requestId, options))
}

interface ListOptions extends OutputOptions {
  readonly state: 'open' | 'all'
  readonly limit: number
}

async function list(here: ClientSurroundings, options: ListOptions): Promise<void> {
  await asUser(here, 'listing settlements', async ({ client }) => {
    const data = await client.request('GET', '/v1/credits/settlements', {
      query: { limit: Math.min(options.limit, 100), state: options.state },
    })
    const none = options.state === 'open' ? 'Nothing waits for its settlement.' : 'There are no settlements.'
    const more = data.next_cursor === 0 ? '' : '\nThere are more: raise --limit.'
    show(here, options, { data, text: data.data.length === 0 ? none : itemTable(data.data) + more })
  })
}

function itemTable(items: readonly SettlementItem[]): string {
  const rows = items.map((item) => [
    item.request_id,
    `#${item.actor_account_id}`,
    item.billing_state,
    credits(item.reserve_amount_micro),
    item.billing_state === 'usage_unknown' ? 'unknown' : credits(item.actual_amount_micro),
    credits(item.shortfall_micro),
    deciderOf(item),
  ])
  const head = ['REQUEST', 'CALLER', 'STATE', 'HELD', 'COST', 'MISSING', 'DECIDES']
  return table(head, rows, ['HELD', 'COST', 'MISSING'])
}

function deciderOf({ can_authorize, payment_review_required, billing_state }: SettlementItem): string {
  if (can_authorize) return 'you'
  if (payment_review_required || billing_state === 'usage_unknown') return 'the operator'
  return billing_state === 'pending_settlement' ? 'the payer, once the Credits are there' : '-'
}

async function authorize(
  here: ClientSurroundings,
  requestId: string,
  options: OutputOptions & { yes?: boolean },
): Promise<void> {
  await confirmed(here, options, `Pay what ${requestId} cost above its hold?`)
  await asUser(here, 'paying', async ({ client }) => {
    const { data } = await client.request('POST', '/v1/credits/settlements/{request_id}/authorize', {
      path: { request_id: requestId },
      body: {},
    })
    show(here, options, { data, text: itemTable([data]) })
  })
}
