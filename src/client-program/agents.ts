import { Argument, Option } from 'commander'
import { parseId, parseText } from '../terminal/options.ts'
import { table } from '../terminal/output.ts'
import { type BudgetOptions, budgetFrom, withBudget } from './budget-options.ts'
import { asUser, type Connection } from './client.ts'
import { confirmed } from './confirmation.ts'
import { budgetText, credits } from './form.ts'
import {
  type AddClientCommands,
  type ClientSurroundings,
  type OutputOptions,
  show,
  withOutput,
} from './surroundings.ts'

const BILLING_MODES = ['self_only', 'self_then_owner', 'owner_only'] as const

/** `farebox agents list|link|pause|resume|unlink`. */
export const agentsCommands: AddClientCommands = (program, here) => {
  const agents = program.command('agents').description('the Agents that you pay for, as their owner')
  const id = (): Argument => new Argument('<id>').argParser(parseId)
  withOutput(
    agents.command('list', { isDefault: true }).description('list your Agents with their limits and what they spent'),
  ).action((options: OutputOptions) => list(here, options))
  withOutput(
    withBudget(
      agents
        .command('link <wallet>')
        .description('pay for the calls of the Agent with this wallet. Takes a session')
        .option('--label <text>', 'a name for people', parseText)
        .addOption(new Option('--billing-mode <mode>', 'whose Credits are taken').choices(BILLING_MODES)),
    ),
  ).action((wallet: string, options: LinkOptions) => link(here, wallet, options))
  for (const [name, funding_paused, what] of [
    ['pause', true, 'stop paying for an Agent; its own Credits stay its own. Takes a session'],
    ['resume', false, 'pay for an Agent again. Takes a session'],
  ] as const) {
    withOutput(agents.command(name).description(what).addArgument(id())).action(
      (agentId: bigint, options: OutputOptions) => setPaused(here, agentId, funding_paused, options),
    )
  }
  withOutput(
    agents
      .command('unlink')
      .description('end the link to an Agent; calls that it began are still paid. Takes a session')
      .addArgument(id())
      .option('--yes', 'unlink without being asked'),
  ).action((agentId: bigint, options: OutputOptions & { yes?: boolean }) => unlink(here, agentId, options))
}

interface LinkOptions extends OutputOptions, BudgetOptions {
  readonly label?: string
  readonly billingMode?: (typeof BILLING_MODES)[number]
}

type Agent = Awaited<ReturnType<typeof readAgents>>['data'][number]

const readAgents = ({ client }: Connection) => client.request('GET', '/v1/me/agents', { query: { limit: 100 } })

async function list(here: ClientSurroundings, options: OutputOptions): Promise<void> {
  await asUser(here, 'listing your Agents', async (connection) => {
    const data = await readAgents(connection)
    const none = 'You pay for no Agent. Link one by `farebox agents link <wallet>`.'
    const more = data.next_cursor === 0 ? '' : '\nThere are more: the console shows all.'
    show(here, options, { data, text: data.data.length === 0 ? none : agentTable(data.data) + more })
  })
}

function agentTable(agents: readonly Agent[]): string {
  const rows = agents.map((agent) => [
    String(agent.id),
    agent.label,
    agent.wallet_address,
    agent.billing_mode,
    agent.funding_paused ? 'paused' : 'paid',
    credits(agent.budget.windows.monthly.spent_micro),
    budgetText(agent.budget),
  ])
  const head = ['ID', 'LABEL', 'WALLET', 'BILLING', 'FUNDING', 'SPENT THIS MONTH', 'BUDGET IN CREDITS']
  return table(head, rows, ['SPENT THIS MONTH'])
}

async function link(here: ClientSurroundings, wallet: string, options: LinkOptions): Promise<void> {
  await asUser(here, 'linking the Agent', async ({ client }) => {
    const budget = budgetFrom(options)
    const { data } = await client.request('POST', '/v1/me/agents', {
      body: {
        agent_wallet_address: wallet,
        ...(options.label === undefined ? {} : { label: options.label }),
        ...(options.billingMode === undefined ? {} : { billing_mode: options.billingMode }),
        ...(budget === undefined ? {} : { budget }),
      },
    })
    show(here, options, { data, text: agentTable([data]) })
  })
}

async function setPaused(
  here: ClientSurroundings,
  id: bigint,
  funding_paused: boolean,
  options: OutputOptions,
): Promise<void> {
  await asUser(here, 'changing the Agent', async ({ client }) => {
    const { data } = await client.request('PATCH', '/v1/me/agents/{id}', {
      path: { id: Number(id) },
      body: { funding_paused },
    })
    show(here, options, { data, text: agentTable([data]) })
  })
}

async function unlink(here: ClientSurroundings, id: bigint, options: OutputOptions & { yes?: boolean }): Promise<void> {
  await confirmed(here, options, `Unlink Agent ${id}? You pay for no call that it begins from now on.`)
  await asUser(here, 'unlinking the Agent', async ({ client }) => {
    await client.request('DELETE', '/v1/me/agents/{id}', { path: { id: Number(id) } })
    show(here, options, { data: { id, linked: false }, text: `Agent ${id} is unlinked.` })
  })
}
