import { ACCOUNTS, EVERYTHING, KEYS, type Name, type Step } from './commands.ts'
import { type Bucket, EXPIRED, type Limits, type Link } from './economy.ts'
import { type LedgerCommand, Model, payersOf } from './model.ts'
import * as statement from './statements.ts'

/** The economy in a model, and what names its parts in the database. */
export interface World {
  readonly model: Model
  /** Every hold id that was ever asked for, in order. */
  readonly asked: bigint[]
  /** Every ledger command that was ever sent, in order, for replays. */
  readonly sent: LedgerCommand[]
  readonly grants: Grant[]
}

/** Credits given, by a source that gives once. */
export interface Grant {
  readonly source: string
  readonly account: Name
  readonly kind: Bucket['kind']
  readonly expires: number | null
  readonly amount: bigint
}

/** What the database is to do for a step, and what it must answer: what the model answered. */
export interface Deed {
  /** What happened, for the count of what a run came to. */
  readonly mark: string
  readonly sql: string
  readonly expected: unknown
}

const NO_LIMITS: Limits = { perCall: null, daily: null, monthly: null, total: null }
/** What the budgets allow until a step says otherwise: two of keys, and those of the first links. */
const FIRST_LIMITS: readonly Limits[] = [
  { ...NO_LIMITS, monthly: 4_000n },
  { ...NO_LIMITS, perCall: 400n, total: 6_000n },
  { ...NO_LIMITS, daily: 3_000n },
  NO_LIMITS,
]
const FIRST_LINKS: Partial<Record<Name, Link>> = {
  agent: { owner: 'owner', mode: 'self_then_owner', paused: false, budget: 3 },
  strict: { owner: 'owner', mode: 'owner_only', paused: false, budget: 4 },
}
const AGENTS = ['agent', 'strict'] as const
/** Below which balance everybody is told, and one of them. */
const TOLD_BELOW = 900n
const LONER_TOLD_BELOW = 2_500n

const at = <T>(list: readonly T[], position: number): T | undefined =>
  list.length === 0 ? undefined : list[position % list.length]

/** The people, their keys and their budgets in a new model; `opening` makes the same in an empty database. */
export function makeWorld(): World {
  const model = new Model()
  FIRST_LIMITS.forEach((limits, index) => {
    model.budgets.set(index + 1, { id: index + 1, limits, spent: 0n, held: 0n })
  })
  for (const name of ACCOUNTS) {
    const link = FIRST_LINKS[name]
    model.accounts.set(name, { name, status: 'active', link: link ? { ...link } : null })
    model.thresholds.set(name, name === 'loner' ? LONER_TOLD_BELOW : TOLD_BELOW)
  }
  for (const [name, key] of Object.entries(KEYS)) model.keys.set(name, { ...key, dead: false })
  return { model, asked: [], sent: [], grants: [] }
}

/** The same people as statements. */
export function opening(): string[] {
  return [
    ...FIRST_LIMITS.map((limits, index) => statement.budget(index + 1, limits)),
    ...ACCOUNTS.map((name) => statement.account(name, FIRST_LINKS[name]?.owner)),
    ...ACCOUNTS.flatMap((name) => {
      const link = FIRST_LINKS[name]
      return link ? [statement.link(name, link)] : []
    }),
    ...Object.entries(KEYS).map(([name, key]) => statement.key(name, key.account, key.budget)),
    statement.thresholds(TOLD_BELOW, 'loner', LONER_TOLD_BELOW),
  ]
}

/** What a step asks of the ledger's hot path now; undefined for other steps, or when there is nothing to work on. */
export function commandOf(world: World, step: Step): LedgerCommand | undefined {
  switch (step.step) {
    case 'reserve': {
      const key = at(Object.keys(KEYS), step.key) as keyof typeof KEYS
      const wanted = BigInt(step.wanted)
      const minimum = (wanted * BigInt(step.minimumPercent) + 99n) / 100n
      const id = BigInt(world.asked.length + 1)
      return { operation: 'reserve', id, actor: KEYS[key].account, key, wanted, minimum }
    }
    case 'capture': {
      const id = holdFor(world, step.which)
      const hold = id === undefined ? undefined : world.model.holds.get(id)
      if (id === undefined) return undefined
      const outcome = step.failed ? 'failed' : 'success'
      const actual =
        step.percent === EVERYTHING && hold
          ? hold.reserve + world.model.free(hold.request.actor)
          : ((hold?.reserve ?? 7n) * BigInt(Math.max(step.percent, 0))) / 100n
      return { operation: 'capture', id, actual, outcome }
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

/** Takes a step in the model; gives what the database is to do. Undefined when there is nothing to work on. */
export function take(world: World, step: Step): Deed | undefined {
  const command = commandOf(world, step)
  if (command) {
    const expected = world.model.apply(command)
    remember(world, command)
    const mark = `${command.operation} ${expected.status}${expected.whose ? ` by ${expected.whose}` : ''}`
    return { mark, sql: statement.operation(command), expected: statement.answered(expected) }
  }
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
    case 'authorize':
      return authorize(world, step.which)
    case 'refund':
      return refund(world, step)
    default:
      return changeTerms(world, step)
  }
}

function grant(world: World, wanted: Grant): Deed {
  const given = world.model.grant(wanted)
  if (given) world.grants.push(wanted)
  return { mark: given ? 'grant' : 'grant again', sql: statement.grant(wanted), expected: { repeated: !given } }
}

function authorize(world: World, position: number): Deed | undefined {
  const waiting = [...world.model.holds].filter(([, hold]) => hold.state === 'open' && hold.shortfall !== undefined)
  const any = [...world.model.holds]
  const [id, hold] = at(position % 4 > 0 && waiting.length > 0 ? waiting : any, Math.floor(position / 4)) ?? []
  if (id === undefined || !hold) return undefined
  const payer = payersOf(hold).at(-1) as Name
  const expected = world.model.authorize(id)
  const mark = `authorize ${expected.outcome}`
  return { mark, sql: statement.authorize(id, payer), expected: statement.authorized(expected) }
}

function refund(world: World, step: Extract<Step, { step: 'refund' }>): Deed | undefined {
  const all = [...world.model.holds]
  const failed = all.filter(([, hold]) => hold.state === 'captured' && hold.outcome === 'failed')
  const [pool, rest] = [step.which % 3, Math.floor(step.which / 3)]
  const [id, hold] = at(pool > 0 && failed.length > 0 ? failed : all, rest) ?? []
  if (id === undefined || !hold) return undefined
  const account = (step.other ? at(ACCOUNTS, rest) : hold.request.actor) as Name
  const outcome = world.model.refund(id, account)
  return { mark: `refund ${outcome}`, sql: statement.refund(id, account), expected: { outcome } }
}

/** Steps that change who may do what, and time's work. */
function changeTerms(world: World, step: Step): Deed | undefined {
  const { model } = world
  const done = (sql: string, expected: unknown = {}): Deed => ({ mark: step.step, sql, expected })
  switch (step.step) {
    case 'expire': {
      const index = step.which % Math.max(model.buckets.length, 1)
      const bucket = model.buckets[index]
      if (!bucket || bucket.expires === null) return undefined
      bucket.expires = EXPIRED
      return done(statement.expireBucket(index))
    }
    case 'sweep': {
      const name = at(ACCOUNTS, step.account) ?? 'owner'
      const swept = model.expire(name)
      return {
        ...done(statement.sweep(name), { swept: Number(swept) }),
        mark: swept > 0n ? 'sweep some' : 'sweep none',
      }
    }
    case 'status': {
      const name = at(ACCOUNTS, step.account) ?? 'owner'
      model.account(name).status = step.status
      return done(statement.status(name, step.status))
    }
    case 'terms': {
      const name = at(AGENTS, step.agent) ?? 'agent'
      const { link } = model.account(name)
      if (!link) return undefined
      Object.assign(link, { mode: step.mode, paused: step.paused })
      return done(statement.terms(name, step.mode, step.paused))
    }
    case 'link':
      return relink(world, step)
    case 'limits': {
      const budget = at([...model.budgets.values()], step.budget)
      if (!budget) return undefined
      budget.limits = step.limits
      return done(statement.limits(budget.id, step.limits))
    }
    case 'killKey': {
      const name = at(Object.keys(KEYS), step.key) ?? 'owner'
      const key = model.keys.get(name)
      if (key) key.dead = true
      return done(statement.killKey(name, step.how))
    }
    default:
      return undefined
  }
}

/** An Agent leaves its owner, or joins one with a budget that has spent nothing. */
function relink({ model }: World, step: Extract<Step, { step: 'link' }>): Deed {
  const name = at(AGENTS, step.agent) ?? 'agent'
  const account = model.account(name)
  if (account.link) {
    account.link = null
    return { mark: 'unlink', sql: statement.unlink(name), expected: {} }
  }
  const budget = model.budgets.size + 1
  model.budgets.set(budget, { id: budget, limits: step.limits, spent: 0n, held: 0n })
  account.link = { owner: step.to % 3 === 0 ? 'rival' : 'owner', mode: 'self_then_owner', paused: false, budget }
  return { mark: 'link', sql: statement.join(name, account.link, step.limits), expected: {} }
}
