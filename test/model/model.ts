import { type Budget, Economy, EXPIRED, EXTENDED, type Kind, type Part, roomOf } from './economy.ts'

/** The ledger once more: what each operation answers and moves. Independent of the SQL, as the economy below it. */
export interface Hold {
  readonly request: ReserveCommand
  readonly parts: Part[]
  readonly reserve: bigint
  readonly keyBudget: Budget | undefined
  readonly linkBudget: Budget | undefined
  state: 'open' | 'captured' | 'voided'
  outcome: Outcome
  actual: bigint
  unknown: boolean
  shortfall: bigint | undefined
  refunded: boolean
}

export type Outcome = 'success' | 'failed'
export interface ReserveCommand {
  readonly operation: 'reserve'
  readonly id: bigint
  readonly actor: string
  readonly key: string
  readonly wanted: bigint
  readonly minimum: bigint
}
export type EndCommand =
  | { readonly operation: 'capture'; readonly id: bigint; readonly actual: bigint; readonly outcome: Outcome }
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

/** What an authorization answers; the rest names the payer that cannot pay its part. */
export interface Authorized {
  readonly outcome: string
  readonly payer?: string
  readonly required?: bigint
  readonly available?: bigint
}

export class Model extends Economy {
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
    const keyBudget = this.budget(key.budget)
    const linkBudget = this.budget(account.link?.budget)
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
      outcome: 'failed',
      actual: 0n,
      unknown: false,
      shortfall: undefined,
      refunded: false,
    })
    return { status: 'reserved', amount: granted }
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
      if (!hold.unknown) this.list(hold)
      hold.unknown = true
      return { status: 'usage_unknown' }
    }
    hold.outcome = command.operation === 'capture' ? command.outcome : 'failed'
    if (command.operation === 'capture' && command.actual > hold.reserve && !this.topUp(hold, command.actual)) {
      hold.shortfall = command.actual
      this.list(hold)
      return { status: 'shortfall', amount: command.actual }
    }
    hold.actual = command.operation === 'capture' ? command.actual : 0n
    hold.state = command.operation === 'capture' ? 'captured' : 'voided'
    this.settle(hold)
    return { status: hold.state, amount: hold.actual }
  }

  /** Whoever made or paid a call hears once of each reason for which it waits; it is one item all the same. */
  private list(hold: Hold): void {
    if (!hold.unknown) this.settlements += 1
    for (const name of new Set([hold.request.actor, ...payersOf(hold)])) this.tell('settlement.pending', name)
  }

  /** The actor's own money covers what the call cost above its hold, if there is enough and its key may. */
  private topUp(hold: Hold, actual: bigint): boolean {
    const { actor } = hold.request
    const missing = actual - hold.reserve
    const limits = hold.keyBudget?.limits
    const room = hold.keyBudget && limits && roomOf({ ...hold.keyBudget, limits: { ...limits, perCall: null } })
    if (this.free(actor) < missing || (room !== undefined && room < missing)) return false
    // per call, what counts is the call
    if (limits && limits.perCall !== null && limits.perCall < actual) return false
    hold.parts.push(...this.take([actor], missing))
    if (hold.keyBudget) hold.keyBudget.held += missing
    return true
  }

  private settle(hold: Hold): void {
    let left = hold.actual
    for (const part of hold.parts) {
      part.captured = part.amount < left ? part.amount : left
      left -= part.captured
      part.bucket.held -= part.amount
      this.spend(part.bucket, part.captured)
      for (const budget of budgetsOf(hold, part)) {
        budget.held -= part.amount
        budget.spent += part.captured
      }
    }
    if (left !== 0n) throw new Error('the model charged more than was held')
  }

  /** Everybody who paid the hold pays its part of what is missing, or nobody pays anything. */
  authorize(id: bigint): Authorized {
    const hold = this.holds.get(id)
    if (!hold) throw new Error(`no hold ${id}`)
    if (hold.state !== 'open') return { outcome: 'settled' }
    if (hold.shortfall === undefined) return { outcome: hold.unknown ? 'usage_unknown' : 'running' }
    const missing = hold.shortfall - hold.reserve
    const parts = new Map<string, bigint>()
    let upto = 0n
    for (const payer of payersOf(hold)) {
      const reserved = hold.parts.reduce((sum, part) => sum + (part.payer === payer ? part.amount : 0n), 0n)
      parts.set(payer, (missing * (upto + reserved)) / hold.reserve - (missing * upto) / hold.reserve)
      upto += reserved
    }
    for (const [payer, required] of parts) {
      const available = this.free(payer)
      if (available < required) return { outcome: 'insufficient', payer, required, available }
    }
    for (const [payer, required] of parts) {
      for (const part of this.take([payer], required)) {
        hold.parts.push(part)
        for (const budget of budgetsOf(hold, part)) budget.held += part.amount
      }
    }
    hold.actual = hold.shortfall
    hold.state = 'captured'
    this.settle(hold)
    return { outcome: 'authorized' }
  }

  /** What a failed call took goes back to where it was taken from, once. */
  refund(id: bigint, account: string): string {
    const hold = this.holds.get(id)
    if (!hold) return 'call_not_found'
    if (hold.request.actor !== account) return 'not_original_account'
    if (hold.refunded) return 'repeated'
    if (hold.state === 'open') {
      if (hold.shortfall !== undefined) return 'pending_settlement'
      return hold.unknown ? 'usage_unknown' : 'call_running'
    }
    if (hold.outcome === 'success') return 'call_successful'
    if (hold.actual === 0n) return 'nothing_charged'
    hold.refunded = true
    const taken = hold.parts.filter((part) => part.captured > 0n)
    const lapsed = taken.filter(({ bucket }) => bucket.expires === EXPIRED)
    for (const payer of new Set(lapsed.map((part) => part.payer))) this.expire(payer)
    for (const part of taken) {
      if (part.bucket.expires === EXPIRED) part.bucket.expires = EXTENDED
      part.bucket.posted += part.captured
      for (const budget of budgetsOf(hold, part)) budget.spent -= part.captured
    }
    this.tell('refund.completed', account)
    return 'refunded'
  }
}

/** Who paid a hold, in the order of use. */
export const payersOf = (hold: Hold): string[] => [...new Set(hold.parts.map((part) => part.payer))]

/** In which budgets a part counts: the key's always, the link's when the owner pays. */
const budgetsOf = (hold: Hold, part: Part): Budget[] =>
  [hold.keyBudget, part.payer === hold.request.actor ? undefined : hold.linkBudget].filter(
    (budget) => budget !== undefined,
  )
