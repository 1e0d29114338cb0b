/**
 * The money core once more, as a person would do it with paper and pencil: Maps, bigint and greedy loops.
 * It shares nothing with the SQL that it judges, and knows nothing of flushes, locks or plans.
 */
export type Mode = 'self_only' | 'self_then_owner' | 'owner_only'
export type Limits = { perCall: bigint | null; daily: bigint | null; monthly: bigint | null; total: bigint | null }
export type Kind = 'promo' | 'bonus' | 'refunded' | 'purchased'

/** A budget of a key or a link. All windows begin empty and no day passes in a run, so one pair of sums serves all. */
export interface Budget {
  readonly name: string
  limits: Limits
  spent: bigint
  held: bigint
}

export interface Account {
  readonly name: string
  status: 'active' | 'banned' | 'deactivated'
  readonly link: { readonly owner: string; mode: Mode; paused: boolean; readonly budget: string | null } | null
}

/** A credential; `dead` once revoked or expired. */
export interface Key {
  readonly account: string
  readonly budget: string | null
  dead: boolean
}

/** `expires`: rank of its time among all expiries, -1 for one that has passed, null for never. */
export interface Bucket {
  readonly account: string
  readonly kind: Kind
  expires: number | null
  posted: bigint
  held: bigint
}

export interface HoldPart {
  readonly bucket: Bucket
  readonly payer: string
  readonly amount: bigint
}

export interface Hold {
  readonly request: ReserveCommand
  readonly parts: HoldPart[]
  readonly reserve: bigint
  readonly keyBudget: Budget | undefined
  readonly linkBudget: Budget | undefined
  state: 'open' | 'captured' | 'voided'
  actual: bigint
  unknown: boolean
  shortfall: bigint | undefined
}

export interface ReserveCommand {
  readonly operation: 'reserve'
  readonly id: bigint
  readonly actor: string
  readonly key: string
  readonly wanted: bigint
  readonly minimum: bigint
}
export type EndCommand =
  | { readonly operation: 'capture'; readonly id: bigint; readonly actual: bigint }
  | { readonly operation: 'void'; readonly id: bigint }
  | { readonly operation: 'unknown'; readonly id: bigint }
export type LedgerCommand = ReserveCommand | EndCommand

/** An answer in the model's words; `room` and `whose` are the numbers of a refusal. */
export interface Answer {
  readonly status: string
  readonly amount?: bigint | undefined
  readonly available?: bigint | undefined
  readonly whose?: 'key' | 'link'
  readonly room?: bigint
}

const KIND_ORDER: readonly Kind[] = ['promo', 'bonus', 'refunded', 'purchased']

export class Model {
  readonly accounts = new Map<string, Account>()
  readonly keys = new Map<string, Key>()
  readonly budgets = new Map<string, Budget>()
  readonly buckets: Bucket[] = []
  readonly holds = new Map<bigint, Hold>()
  readonly grants = new Set<string>()
  settlements = 0

  grant(grant: { source: string; account: string; kind: Kind; expires: number | null; amount: bigint }): boolean {
    if (this.grants.has(grant.source)) return false
    this.grants.add(grant.source)
    let bucket =
      grant.expires === null
        ? this.buckets.find((b) => b.account === grant.account && b.kind === grant.kind && b.expires === null)
        : undefined
    if (!bucket) {
      bucket = { account: grant.account, kind: grant.kind, expires: grant.expires, posted: 0n, held: 0n }
      this.buckets.push(bucket)
    }
    bucket.posted += grant.amount
    return true
  }

  apply(command: LedgerCommand): Answer {
    const answer = command.operation === 'reserve' ? this.reserve(command) : this.end(command)
    const actor = command.operation === 'reserve' ? command.actor : this.holds.get(command.id)?.request.actor
    return actor === undefined ? answer : { ...answer, available: this.spendable(actor) }
  }

  /** What an account may spend: its own, and of its owner's what the link's budget leaves. */
  spendable(name: string): bigint {
    const { own, owners } = this.funds(name)
    const room = roomOf(this.linkBudget(name))
    return own + (room !== undefined && room < owners ? room : owners)
  }

  private linkBudget(name: string): Budget | undefined {
    const { link } = this.account(name)
    return link?.budget ? this.budgets.get(link.budget) : undefined
  }

  private account(name: string): Account {
    const account = this.accounts.get(name)
    if (!account) throw new Error(`no account ${name}`)
    return account
  }

  /** What an account has of its own that is neither held nor expired. */
  free(name: string): bigint {
    let total = 0n
    for (const bucket of this.buckets)
      if (bucket.account === name && bucket.expires !== -1) total += bucket.posted - bucket.held
    return total
  }

  private funds(name: string): { own: bigint; owners: bigint; owner: string | undefined } {
    const { link } = this.account(name)
    const own = link?.mode === 'owner_only' ? 0n : this.free(name)
    const owner =
      link && link.mode !== 'self_only' && !link.paused && this.account(link.owner).status === 'active'
        ? link.owner
        : undefined
    return { own, owners: owner === undefined ? 0n : this.free(owner), owner }
  }

  private inOrder(names: readonly string[]): Bucket[] {
    const found: Bucket[] = []
    for (const name of names) {
      const mine = this.buckets.filter((b) => b.account === name && b.expires !== -1 && b.posted > b.held)
      const never = Number.MAX_SAFE_INTEGER
      mine.sort(
        (a, b) =>
          (a.expires ?? never) - (b.expires ?? never) ||
          KIND_ORDER.indexOf(a.kind) - KIND_ORDER.indexOf(b.kind) ||
          this.buckets.indexOf(a) - this.buckets.indexOf(b),
      )
      found.push(...mine)
    }
    return found
  }

  private reserve(command: ReserveCommand): Answer {
    const known = this.holds.get(command.id)
    if (known) {
      const { request } = known
      const same =
        request.actor === command.actor && request.wanted === command.wanted && request.minimum === command.minimum
      return same ? { status: 'reserved', amount: known.reserve } : { status: 'conflict' }
    }
    const account = this.account(command.actor)
    const key = this.keys.get(command.key)
    if (!key || key.dead || key.account !== command.actor) return { status: 'unauthorized' }
    if (account.status !== 'active') return { status: `account_${account.status}` }

    const { own, owners, owner } = this.funds(command.actor)
    const keyBudget = key.budget === null ? undefined : this.budgets.get(key.budget)
    const linkBudget = this.linkBudget(command.actor)
    const keyRoom = roomOf(keyBudget)
    const linkRoom = roomOf(linkBudget)
    const funds = own + (linkRoom !== undefined && linkRoom < owners ? linkRoom : owners)
    let granted = command.wanted < funds ? command.wanted : funds
    if (keyRoom !== undefined && keyRoom < granted) granted = keyRoom
    if (granted < command.minimum) {
      if (keyRoom !== undefined && keyRoom < command.minimum)
        return { status: 'budget_exceeded', amount: granted, whose: 'key', room: keyRoom }
      if (own + owners >= command.minimum)
        return { status: 'budget_exceeded', amount: granted, whose: 'link', room: linkRoom ?? 0n }
      return { status: 'insufficient_credits', amount: funds, room: funds }
    }
    const payers = [
      ...(account.link?.mode === 'owner_only' ? [] : [command.actor]),
      ...(owner === undefined ? [] : [owner]),
    ]
    const parts = this.take(payers, granted)
    for (const part of parts) if (linkBudget && part.payer !== command.actor) linkBudget.held += part.amount
    if (keyBudget) keyBudget.held += granted
    this.holds.set(command.id, {
      request: command,
      parts,
      reserve: granted,
      keyBudget,
      linkBudget,
      state: 'open',
      actual: 0n,
      unknown: false,
      shortfall: undefined,
    })
    return { status: 'reserved', amount: granted }
  }

  private take(payers: readonly string[], amount: bigint): HoldPart[] {
    const parts: HoldPart[] = []
    let left = amount
    for (const bucket of this.inOrder(payers)) {
      if (left === 0n) break
      const free = bucket.posted - bucket.held
      const taken = free < left ? free : left
      bucket.held += taken
      left -= taken
      parts.push({ bucket, payer: bucket.account, amount: taken })
    }
    if (left !== 0n) throw new Error('the model took more than there was')
    return parts
  }

  private end(command: EndCommand): Answer {
    const hold = this.holds.get(command.id)
    if (!hold) return { status: 'hold_not_found' }
    if (hold.state !== 'open') {
      const same =
        command.operation === 'capture'
          ? hold.state === 'captured' && hold.actual === command.actual
          : command.operation === 'void' && hold.state === 'voided'
      return { status: same ? hold.state : 'already_resolved', amount: hold.actual }
    }
    if (hold.shortfall !== undefined) {
      return {
        status: command.operation === 'capture' && command.actual === hold.shortfall ? 'shortfall' : 'already_resolved',
        amount: hold.shortfall,
      }
    }
    if (command.operation === 'unknown') {
      if (!hold.unknown) this.settlements += 1
      hold.unknown = true
      return { status: 'usage_unknown' }
    }
    if (
      command.operation === 'capture' &&
      command.actual > hold.reserve &&
      !this.topUp(hold, command.actual - hold.reserve)
    ) {
      hold.shortfall = command.actual
      if (!hold.unknown) this.settlements += 1
      return { status: 'shortfall', amount: command.actual }
    }
    hold.actual = command.operation === 'capture' ? command.actual : 0n
    hold.state = command.operation === 'capture' ? 'captured' : 'voided'
    this.settle(hold)
    return { status: hold.state, amount: hold.actual }
  }

  /** The actor's own money covers what the call cost above its hold, if there is enough and its key may. */
  private topUp(hold: Hold, missing: bigint): boolean {
    const { actor } = hold.request
    const room = hold.keyBudget && roomOf({ ...hold.keyBudget, limits: { ...hold.keyBudget.limits, perCall: null } })
    if (this.free(actor) < missing || (room !== undefined && room < missing)) return false
    hold.parts.push(...this.take([actor], missing))
    if (hold.keyBudget) hold.keyBudget.held += missing
    return true
  }

  private settle(hold: Hold): void {
    let left = hold.actual
    for (const part of hold.parts) {
      const charged = part.amount < left ? part.amount : left
      left -= charged
      part.bucket.held -= part.amount
      part.bucket.posted -= charged
      const budgets = [hold.keyBudget, part.payer === hold.request.actor ? undefined : hold.linkBudget]
      for (const budget of budgets) {
        if (!budget) continue
        budget.held -= part.amount
        budget.spent += charged
      }
    }
    if (left !== 0n) throw new Error('the model charged more than was held')
  }
}

/** The tightest room of a budget; undefined when nothing limits it. */
function roomOf(budget: Budget | undefined): bigint | undefined {
  if (!budget) return undefined
  const { perCall, daily, monthly, total } = budget.limits
  let room = perCall ?? undefined
  for (const limit of [daily, monthly, total]) {
    if (limit === null) continue
    const left = limit - budget.spent - budget.held
    const usable = left > 0n ? left : 0n
    if (room === undefined || usable < room) room = usable
  }
  return room
}
