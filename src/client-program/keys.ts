import { Argument } from 'commander'
import { parseExpiry, parseId, parseText } from '../terminal/options.ts'
import { fields, table } from '../terminal/output.ts'
import { type BudgetOptions, budgetFrom, withBudget } from './budget-options.ts'
import { asUser } from './client.ts'
import { confirmed } from './confirmation.ts'
import { budgetText, moment } from './form.ts'
import {
  type AddClientCommands,
  type ClientSurroundings,
  type OutputOptions,
  show,
  withOutput,
} from './surroundings.ts'

/** `farebox keys list|create|revoke`. */
export const keysCommands: AddClientCommands = (program, here) => {
  const keys = program.command('keys').description('your API keys')
  withOutput(
    keys.command('list', { isDefault: true }).description('list your keys, newest first, revoked ones too'),
  ).action((options: OutputOptions) => list(here, options))
  withOutput(
    withBudget(
      keys
        .command('create')
        .description('make a key; its secret is printed once. Takes a session: log in by --private-key-file')
        .option('--name <text>', 'a name for people', parseText)
        .option('--expires <when>', '90d, 12h, a date or an RFC 3339 time', parseExpiry(here.clock)),
    ).option('--quiet', 'print the secret alone'),
  ).action((options: NewKey) => create(here, options))
  withOutput(
    keys
      .command('revoke')
      .description('end a key now: a call that begins after this is refused. Takes a session')
      .addArgument(new Argument('<id>').argParser(parseId))
      .option('--yes', 'revoke without being asked'),
  ).action((id: bigint, options: OutputOptions & { yes?: boolean }) => revoke(here, id, options))
}

interface NewKey extends OutputOptions, BudgetOptions {
  readonly name?: string
  readonly expires?: Date
  readonly quiet?: boolean
}

async function list(here: ClientSurroundings, options: OutputOptions): Promise<void> {
  await asUser(here, 'listing your keys', async ({ client }) => {
    const data = await client.request('GET', '/v1/me/api-keys')
    const rows = data.keys.map((key) => [
      String(key.id),
      shortKey(key),
      key.name,
      key.status,
      moment(key.created_at),
      moment(key.last_used_at),
      moment(key.expires_at),
      budgetText(key.budget),
    ])
    const head = ['ID', 'KEY', 'NAME', 'STATUS', 'CREATED', 'LAST USED', 'EXPIRES', 'BUDGET IN CREDITS']
    const none = 'You have no keys. Make one by `farebox keys create`.'
    show(here, options, { data: { keys: data.keys }, text: rows.length === 0 ? none : table(head, rows) })
  })
}

async function create(here: ClientSurroundings, options: NewKey): Promise<void> {
  await asUser(here, 'making the key', async ({ client }) => {
    const { name, expires } = options
    const budget = budgetFrom(options)
    const { data: key, api_key } = await client.request('POST', '/v1/me/api-keys', {
      body: {
        ...(name === undefined ? {} : { name }),
        ...(expires === undefined ? {} : { expires_at: expires.toISOString() }),
        ...(budget === undefined ? {} : { budget }),
      },
    })
    if (options.quiet) {
      here.write(`${api_key}\n`)
      return
    }
    here.writeError('Keep the key now: it is shown this once and stored nowhere.\n')
    const { token: _secret, ...metadata } = key
    const text = fields([
      ['key', String(key.id)],
      ['name', key.name || undefined],
      ['begins and ends', shortKey(key)],
      ['expires', moment(key.expires_at)],
      ['budget in Credits', budgetText(key.budget)],
    ])
    show(here, options, { data: { key: metadata, api_key }, text: `${text}\n\n${api_key}` })
  })
}

async function revoke(here: ClientSurroundings, id: bigint, options: OutputOptions & { yes?: boolean }): Promise<void> {
  await confirmed(here, options, `Revoke key ${id}? Whoever uses it is refused from now on.`)
  await asUser(here, 'revoking the key', async ({ client }) => {
    await client.request('DELETE', '/v1/me/api-keys/{id}', { path: { id: Number(id) } })
    show(here, options, {
      data: { id, status: 'revoked' },
      text: `Key ${id} is revoked. Calls that run are finished and billed; none begins any more.`,
    })
  })
}

const shortKey = ({ prefix, last4 }: { prefix: string; last4: string }): string => `${prefix}…${last4}`
