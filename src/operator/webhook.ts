import { type Command, InvalidArgumentError } from 'commander'
import type { ProgramSurroundings } from '../app/surroundings.ts'
import { exitCodes, ProgramFault } from '../terminal/exit-codes.ts'
import { parseId, parseLimit, withJson, withReason } from '../terminal/options.ts'
import { print, table, time } from '../terminal/output.ts'
import { replayDelivery, replaySince } from '../webhooks/deliveries/service.ts'
import { type Delivery, list as listDeliveries } from '../webhooks/deliveries/store.ts'
import { list as listEndpoints } from '../webhooks/endpoints/store.ts'
import { webhookId } from '../webhooks/secret.ts'
import { findAccount } from './find-account.ts'
import type { AddCommands } from './program.ts'
import { withDatabase } from './session.ts'

const states = ['pending', 'delivered', 'failed', 'canceled'] as const
type State = (typeof states)[number]

/** `farebox webhook list|deliveries|replay`: where events of an account go, and what became of them. */
export const webhookCommands: AddCommands = (program, around) => {
  const webhook = program.command('webhook').description('webhooks: endpoints, deliveries, replays')
  withJson(
    webhook.command('list <account>').description('list the webhook endpoints of an account; never their secrets'),
  ).action((account: string, options: { json?: boolean }) => list(around, account, options))
  withJson(webhook.command('deliveries <account>').description('list what was sent to an account, newest first'))
    .option('--endpoint <id>', 'of one endpoint', parseId)
    .option('--state <state>', `one of ${states.join(', ')}`, parseState)
    .option('--limit <n>', 'how many', parseLimit, 100)
    .action((account: string, options: Listed) => deliveries(around, account, options))
  withReason(withJson(webhook.command('replay <account>').description('send again what was not received')))
    .option('--delivery <id>', 'one delivery, whatever became of it', parseId)
    .option('--endpoint <id>', 'what this endpoint missed since --since', parseId)
    .option('--since <time>', 'an RFC 3339 time such as 2027-01-31T12:00:00Z', parseTime)
    .option('--include-delivered', 'with --since: also what was received')
    .action((account: string, options: Replayed, command: Command) => replay(around, account, options, command))
}

interface Listed {
  readonly endpoint?: bigint
  readonly state?: State
  readonly limit: number
  readonly json?: boolean
}

interface Replayed {
  readonly delivery?: bigint
  readonly endpoint?: bigint
  readonly since?: Date
  readonly includeDelivered?: boolean
  readonly reason: string
  readonly json?: boolean
}

async function list(around: ProgramSurroundings, named: string, options: { json?: boolean }): Promise<void> {
  await withDatabase(around, 'listing webhook endpoints', async ({ db }) => {
    const account = await findAccount(db, named)
    const rows = await listEndpoints(db, account.id)
    print(around, options, {
      data: {
        endpoints: rows.map((row) => ({
          id: row.id,
          url: row.url,
          events: row.events,
          description: row.description,
          enabled: row.disabled_at === null,
          disabled_reason: row.disabled_reason,
          disabled_at: row.disabled_at,
          failing_since: row.failing_since,
          created_at: row.created_at,
        })),
      },
      text:
        rows.length === 0
          ? `Account ${account.id} has no webhook endpoints.`
          : table(
              ['ID', 'STATE', 'EVENTS', 'FAILING SINCE', 'URL'],
              rows.map((row) => [
                String(row.id),
                row.disabled_reason === null ? 'enabled' : `disabled: ${row.disabled_reason}`,
                row.events.join(',') || 'all',
                row.failing_since === null ? '-' : time(row.failing_since),
                row.url,
              ]),
            ),
    })
  })
}

async function deliveries(around: ProgramSurroundings, named: string, options: Listed): Promise<void> {
  await withDatabase(around, 'listing webhook deliveries', async ({ db }) => {
    const account = await findAccount(db, named)
    const rows = await listDeliveries(db, {
      accountId: account.id,
      endpointId: options.endpoint,
      state: options.state,
      limit: options.limit,
    })
    print(around, options, {
      data: { deliveries: rows.map(deliveryData) },
      text:
        rows.length === 0
          ? 'There are no such deliveries.'
          : table(
              ['ID', 'WHEN', 'EVENT', 'OBJECT', 'STATE', 'ATTEMPTS', 'LAST', 'URL'],
              rows.map((row) => [
                String(row.id),
                time(row.created_at),
                row.event,
                row.object_id,
                row.state,
                String(row.attempts),
                [row.last_outcome, row.last_status].filter((part) => part !== null).join(' ') || '-',
                row.url,
              ]),
              ['ATTEMPTS'],
            ),
    })
  })
}

async function replay(around: ProgramSurroundings, named: string, options: Replayed, command: Command): Promise<void> {
  const { delivery, endpoint, since, includeDelivered = false } = options
  const one = delivery !== undefined && endpoint === undefined && since === undefined && !includeDelivered
  const many = delivery === undefined && endpoint !== undefined && since !== undefined
  if (!one && !many) command.error('error: It takes either --delivery, or --endpoint with --since.')
  await withDatabase(around, 'replaying', async ({ db }) => {
    const accountId = (await findAccount(db, named)).id
    const deps = { db, clock: around.clock }
    const by = { actor: { kind: 'operator', name: around.userName }, reason: options.reason } as const
    if (delivery !== undefined) {
      const replayed = await replayDelivery(deps, { accountId, id: delivery }, by)
      return print(around, options, {
        data: { delivery: deliveryData(replayed) },
        text: `Delivery ${replayed.id} (${replayed.event}) is sent again by a running server.`,
      })
    }
    if (endpoint === undefined || since === undefined) throw new ProgramFault(exitCodes.usage, 'Name the endpoint.')
    const which = { accountId, endpointId: endpoint }
    const replayed = await replaySince(deps, which, { since, all: includeDelivered }, by)
    print(around, options, {
      data: { replayed },
      text: `${replayed} ${replayed === 1 ? 'delivery is' : 'deliveries are'} sent again by a running server.`,
    })
  })
}

const deliveryData = (row: Delivery) => ({
  id: row.id,
  webhook_id: webhookId(row.event_id),
  endpoint_id: row.kind === 'task_host' ? null : row.endpoint_id,
  url: row.url,
  event: row.event,
  object_id: row.object_id,
  state: row.state,
  attempts: row.attempts,
  last_outcome: row.last_outcome,
  last_status: row.last_status,
  last_attempt_at: row.last_attempt_at,
  next_attempt_at: row.state === 'pending' ? row.next_attempt_at : null,
  created_at: row.created_at,
  finished_at: row.finished_at,
})

function parseState(text: string): State {
  const state = states.find((known) => known === text)
  if (!state) throw new InvalidArgumentError(`It takes one of ${states.join(', ')}.`)
  return state
}

function parseTime(text: string): Date {
  const at = /^\d{4}-\d{2}-\d{2}T[\d:.]+(Z|[+-]\d{2}:\d{2})$/.test(text) ? new Date(text) : new Date(Number.NaN)
  if (Number.isNaN(at.getTime())) throw new InvalidArgumentError('It takes a time such as 2027-01-31T12:00:00Z.')
  return at
}
