import { microcredits } from '../../src/kernel/money.ts'
import { grantCredits } from '../../src/ledger/grants.ts'
import type { Applied, Operation } from '../../src/ledger/operations.ts'
import type { TestDatabase } from '../database.ts'
import { ACCOUNTS, BUDGETS, EVERYTHING, KEYS, type Step } from './commands.ts'
import { type Answer, type Bucket, type LedgerCommand, type Limits, Model } from './model.ts'

/** The same economy twice: in a database and in the model, with the ids that tie them together. */
export interface World {
  readonly database: TestDatabase
  readonly model: Model
  /** Every hold id that was ever asked for, in order. */
  readonly asked: bigint[]
  /** Every ledger command that was ever sent, in order, for replays. */
  readonly sent: LedgerCommand[]
  readonly grants: Array<{
    source: string
    account: string
    kind: Bucket['kind']
    expires: number | null
    amount: bigint
  }>
}

export const accountId = (name: string): bigint => BigInt(ACCOUNTS.indexOf(name as (typeof ACCOUNTS)[number]) + 1)
const keyId = (name: string): bigint => BigInt(Object.keys(KEYS).indexOf(name) + 1)
const budgetId = (name: string): bigint => BigInt(BUDGETS.indexOf(name as (typeof BUDGETS)[number]) + 1)
const NO_LIMITS: Limits = { perCall: null, daily: null, monthly: null, total: null }
/** What the budgets allow until a step says otherwise. */
const FIRST_LIMITS: Record<(typeof BUDGETS)[number], Limits> = {
  key: { ...NO_LIMITS, monthly: 4_000n },
  lonerKey: { ...NO_LIMITS, perCall: 400n, total: 6_000n },
  link: { ...NO_LIMITS, daily: 3_000n },
}
const at = <T>(list: readonly T[], position: number): T | undefined =>
  list.length === 0 ? undefined : list[position % list.length]
/** The time of an expiry's rank: far ahead, or long gone for -1. */
const expiryTime = (rank: number): Date => new Date(Date.UTC(rank < 0 ? 2001 : 2900 + rank, 0, 1))

/** Empties the database for the next run, history too: as its owner may, and nobody else. */
export async function emptyDatabase(database: TestDatabase): Promise<void> {
  const history = await database.sql<{ name: string }>(
    `select tgrelid::regclass::text as name from pg_trigger where tgname = 'append_only' and tgrelid <> 'system_accounts'::regclass`,
  )
  const trigger = (how: string) => history.map(({ name }) => `alter table ${name} ${how} trigger append_only;`).join('')
  const tables = ['families', 'budgets', ...history.map(({ name }) => name)].join(', ')
  await database.sql(
    `begin; ${trigger('disable')} truncate ${tables} restart identity cascade; ${trigger('enable')} commit`,
  )
}

/** Makes the people, their keys and their budgets in an empty database and in a new model. */
export async function makeWorld(database: TestDatabase): Promise<World> {
  const model = new Model()
  for (const name of BUDGETS) {
    model.budgets.set(name, { name, limits: FIRST_LIMITS[name], spent: 0n, held: 0n })
    const { perCall, daily, monthly, total } = FIRST_LIMITS[name]
    await database.sql(
      'insert into budgets (per_call_micro, daily_micro, monthly_micro, total_micro) values ($1, $2, $3, $4)',
      [perCall, daily, monthly, total],
    )
  }
  for (const name of ACCOUNTS) {
    const owned = name === 'agent' || name === 'strict'
    const family = owned ? accountId('owner') : accountId(name)
    await database.sql('insert into families (id) values ($1) on conflict do nothing', [family])
    await database.sql(`insert into accounts (account_type, family_id) values ($1, $2)`, [
      owned ? 'agent' : 'owner',
      family,
    ])
    const link = owned
      ? {
          owner: 'owner',
          mode: name === 'strict' ? ('owner_only' as const) : ('self_then_owner' as const),
          paused: false,
          budget: name === 'agent' ? 'link' : null,
        }
      : null
    if (link) {
      await database.sql(
        'insert into agent_links (agent_account_id, owner_account_id, billing_mode, budget_id) values ($1, $2, $3, $4)',
        [accountId(name), accountId(link.owner), link.mode, link.budget === null ? null : budgetId(link.budget)],
      )
    }
    model.accounts.set(name, { name, status: 'active', link })
  }
  for (const [name, key] of Object.entries(KEYS)) {
    await database.sql(
      `insert into api_keys (account_id, secret_hash, prefix, last4, budget_id) values ($1, $2, 'fbx_', '', $3)`,
      [accountId(key.account), Buffer.from(name), key.budget === null ? null : budgetId(key.budget)],
    )
    model.keys.set(name, { account: key.account, budget: key.budget, dead: false })
  }
  return { database, model, asked: [], sent: [], grants: [] }
}

/** What a step asks of the ledger now; undefined for steps that are not the ledger's, or that have nothing to work on. */
export function commandOf(world: World, step: Step): LedgerCommand | undefined {
  switch (step.step) {
    case 'reserve': {
      const key = at(Object.keys(KEYS), step.key) as keyof typeof KEYS
      const wanted = BigInt(step.wanted)
      const minimum = (wanted * BigInt(step.minimumPercent) + 99n) / 100n
      return {
        operation: 'reserve',
        id: BigInt(world.asked.length + 1),
        actor: KEYS[key].account,
        key,
        wanted,
        minimum,
      }
    }
    case 'capture': {
      const id = holdFor(world, step.which)
      const hold = id === undefined ? undefined : world.model.holds.get(id)
      if (id === undefined) return undefined
      if (step.percent === EVERYTHING && hold)
        return { operation: 'capture', id, actual: hold.reserve + world.model.free(hold.request.actor) }
      return { operation: 'capture', id, actual: ((hold?.reserve ?? 7n) * BigInt(Math.max(step.percent, 0))) / 100n }
    }
    case 'void':
    case 'unknown': {
      const id = holdFor(world, step.which)
      return id === undefined ? undefined : { operation: step.step, id }
    }
    case 'replay':
      return at(world.sent, step.which)
    case 'alter': {
      const command = at(world.sent, step.which)
      const by = BigInt(step.by)
      if (command?.operation === 'reserve') return { ...command, wanted: command.wanted + by }
      return command?.operation === 'capture' ? { ...command, actual: command.actual + by } : command
    }
    default:
      return undefined
  }
}

/** Mostly an open hold, else one that ended, and now and then an id that was refused. */
function holdFor(world: World, position: number): bigint | undefined {
  const all = [...world.model.holds]
  const open = all.filter(([, hold]) => hold.state === 'open').map(([id]) => id)
  const [pool, rest] = [position % 8, Math.floor(position / 8)]
  if (pool === 0) return at(world.asked, rest)
  return at(pool < 6 && open.length > 0 ? open : all.map(([id]) => id), rest)
}

/** Notes that a command was sent, so that later steps can name it. */
export function remember(world: World, command: LedgerCommand): void {
  world.sent.push(command)
  if (command.operation === 'reserve' && !world.asked.includes(command.id)) world.asked.push(command.id)
}

/** The command in the ledger's own words. */
export function operationOf(command: LedgerCommand): Operation {
  switch (command.operation) {
    case 'reserve':
      return {
        operation: 'reserve',
        holdId: command.id,
        requestId: `request ${command.id}`,
        actorAccountId: accountId(command.actor),
        credential: { kind: 'api_key', id: keyId(command.key) },
        wantedMicro: microcredits(command.wanted),
        minimumMicro: microcredits(command.minimum),
        category: 'model',
        subject: 'test',
        detail: null,
      }
    case 'capture':
      return {
        operation: 'capture',
        holdId: command.id,
        actualMicro: microcredits(command.actual),
        outcome: 'success',
        usage: null,
      }
    case 'void':
      return { operation: 'void', holdId: command.id, outcome: 'failed' }
    case 'unknown':
      return { operation: 'unknown', holdId: command.id, reason: 'the test says so' }
  }
}

/** The ledger's answer in the model's words. */
export function answerOf(applied: Applied): Answer {
  const { detail } = applied
  const number = (name: string): bigint => BigInt(String(detail?.[name] ?? 0))
  const answer: Answer = { status: applied.status, amount: applied.amountMicro, available: applied.availableMicro }
  if (applied.status === 'insufficient_credits') return { ...answer, room: number('available_micro') }
  if (applied.status !== 'budget_exceeded') return answer
  const room = number('limit_micro') - number('spent_micro') - number('held_micro')
  return { ...answer, whose: detail?.budget as 'key' | 'link', room: room > 0n ? room : 0n }
}

/** Does a step that is not the ledger's hot path, in both worlds. */
export async function changeWorld(world: World, step: Step): Promise<void> {
  const { model, database } = world
  switch (step.step) {
    case 'grant':
      return grant(world, {
        source: `grant ${world.grants.length}`,
        account: at(ACCOUNTS, step.account) ?? 'owner',
        kind: step.kind,
        expires: step.expires,
        amount: BigInt(step.amount),
      })
    case 'grantAgain': {
      const earlier = at(world.grants, step.which)
      return earlier && grant(world, earlier)
    }
    case 'expire': {
      const index = step.which % Math.max(model.buckets.length, 1)
      const bucket = model.buckets[index]
      if (!bucket || bucket.expires === null) return
      bucket.expires = -1
      await database.sql(
        'update buckets set expires_at = $2 where id = (select id from buckets order by id offset $1 limit 1)',
        [index, expiryTime(-1)],
      )
      return
    }
    case 'status': {
      const name = at(ACCOUNTS, step.account) ?? 'owner'
      const account = model.accounts.get(name)
      if (account) account.status = step.status
      await database.sql('update accounts set status = $2 where id = $1', [accountId(name), step.status])
      return
    }
    case 'link': {
      const link = model.accounts.get('agent')?.link
      if (link) Object.assign(link, { mode: step.mode, paused: step.paused })
      await database.sql('update agent_links set billing_mode = $2, funding_paused = $3 where agent_account_id = $1', [
        accountId('agent'),
        step.mode,
        step.paused,
      ])
      return
    }
    case 'limits': {
      const name = at(BUDGETS, step.budget) ?? 'key'
      const budget = model.budgets.get(name)
      if (budget) budget.limits = step.limits
      const { perCall, daily, monthly, total } = step.limits
      await database.sql(
        'update budgets set per_call_micro = $2, daily_micro = $3, monthly_micro = $4, total_micro = $5 where id = $1',
        [budgetId(name), perCall, daily, monthly, total],
      )
      return
    }
    case 'killKey': {
      const name = at(Object.keys(KEYS), step.key) ?? 'owner'
      const key = model.keys.get(name)
      if (key) key.dead = true
      const column = step.how === 'revoke' ? 'revoked_at' : 'expires_at'
      await database.sql(`update api_keys set ${column} = now() - interval '1 second' where id = $1`, [keyId(name)])
      return
    }
    default:
      return
  }
}

async function grant(world: World, wanted: World['grants'][number]): Promise<void> {
  const given = world.model.grant(wanted)
  if (given) world.grants.push(wanted)
  const { repeated } = await grantCredits(world.database.db, {
    source: 'operator',
    sourceId: wanted.source,
    accountId: accountId(wanted.account),
    bucket: wanted.kind,
    amountMicro: microcredits(wanted.amount),
    expiresAt: wanted.expires === null ? undefined : expiryTime(wanted.expires),
    reason: 'a test',
    grantedBy: 'operator:test',
  })
  if (repeated === given)
    throw new Error(`grant ${wanted.source}: given by the model ${given}, repeated by the ledger ${repeated}`)
}

/** All that money can be seen by, as text: buckets, budgets, ends of holds, open items. */
export interface Balances {
  readonly buckets: string[]
  readonly budgets: string[]
  readonly holds: string[]
  readonly settlements: number
}

/** The balances that the model has. */
export function modelBalances({ model }: World): Balances {
  return {
    buckets: model.buckets.map((b) => `${b.account} ${b.kind} posted ${b.posted} held ${b.held}`),
    budgets: [...model.budgets.values()].flatMap((b) =>
      b.spent + b.held === 0n
        ? []
        : ['daily', 'monthly', 'total'].map((window) => `${b.name} ${window} spent ${b.spent} held ${b.held}`),
    ),
    holds: [...model.holds]
      .sort(([a], [b]) => Number(a - b))
      .map(
        ([id, h]) =>
          `${id} ${h.reserve} ${h.state} ${h.actual} parts ${h.parts.map((p) => `${model.buckets.indexOf(p.bucket)}:${p.amount}`).join(' ')}`,
      ),
    settlements: model.settlements,
  }
}

/** The query behind databaseBalances; one row with a `balances` column. */
export const BALANCES = `
  with numbered as (select *, row_number() over (order by id) - 1 as position from buckets)
  select json_build_object(
    'buckets', (select coalesce(json_agg(format('%s %s posted %s held %s', ($1::text[])[account_id], kind, posted_micro, held_micro) order by id), '[]') from buckets),
    'budgets', (select coalesce(json_agg(format('%s %s spent %s held %s', ($2::text[])[budget_id], window_kind, spent_micro, held_micro) order by budget_id, window_kind), '[]') from budget_windows where spent_micro + held_micro > 0),
    'holds', (select coalesce(json_agg(format('%s %s %s %s parts %s', h.id, h.reserve_micro, coalesce(r.kind::text, 'open'), coalesce(r.actual_micro, 0),
        (select string_agg(format('%s:%s', n.position, a.amount_micro), ' ' order by a.n) from hold_allocations a join numbered n on n.id = a.bucket_id where a.hold_id = h.id)) order by h.id), '[]')
      from holds h left join hold_resolutions r on r.hold_id = h.id),
    'settlements', (select count(*) from settlements)) as balances`
export const BALANCES_VALUES: unknown[] = [[...ACCOUNTS], [...BUDGETS]]

/** The balances that the database has. */
export async function databaseBalances(database: TestDatabase): Promise<Balances> {
  const [row] = await database.sql<{ balances: Balances }>(BALANCES, BALANCES_VALUES)
  if (!row) throw new Error('no balances')
  return row.balances
}
