/**
 * Who exists, what they have and what limits them, as a person would keep it with paper and pencil: Maps, bigint and
 * greedy loops. It shares nothing with the SQL that it judges, and knows nothing of flushes, locks or plans.
 */
export type Mode = 'self_only' | 'self_then_owner' | 'owner_only'
export type Limits = { perCall: bigint | null; daily: bigint | null; monthly: bigint | null; total: bigint | null }
export type Kind = 'promo' | 'bonus' | 'refunded' | 'purchased'

/** A budget of a key or a link. All windows begin empty and no day passes in a run, so one pair of sums serves all. */
export interface Budget {
  readonly id: number
  limits: Limits
  spent: bigint
  held: bigint
}

export interface Link {
  readonly owner: string
  mode: Mode
  paused: boolean
  readonly budget: number | null
}

export interface Account {
  readonly name: string
  status: 'active' | 'banned' | 'deactivated'
  link: Link | null
}

/** A credential; `dead` once revoked or expired. */
export interface Key {
  readonly account: string
  readonly budget: number | null
  dead: boolean
}

/** `expires`: rank of its time among all expiries, EXPIRED for one that has passed, null for never. */
export interface Bucket {
  readonly account: string
  readonly kind: Kind
  expires: number | null
  posted: bigint
  held: bigint
}

export interface Part {
  readonly bucket: Bucket
  readonly payer: string
  readonly amount: bigint
  captured: bigint
}

/** The rank of a time that has passed. */
export const EXPIRED = -1
/** The rank of a bucket that lives 7 days more: earlier than every other. */
export const EXTENDED = -0.5
const NEVER = Number.MAX_SAFE_INTEGER
const KIND_ORDER: readonly Kind[] = ['promo', 'bonus', 'refunded', 'purchased']

export class Economy {
  readonly accounts = new Map<string, Account>()
  readonly keys = new Map<string, Key>()
  readonly budgets = new Map<number, Budget>()
  readonly buckets: Bucket[] = []
  /** Below which balance an account is told. */
  readonly thresholds = new Map<string, bigint>()
  /** How often whom was told what. */
  readonly told = new Map<string, number>()

  account(name: string): Account {
    const account = this.accounts.get(name)
    if (!account) throw new Error(`no account ${name}`)
    return account
  }

  budget(id: number | null | undefined): Budget | undefined {
    return id === null || id === undefined ? undefined : this.budgets.get(id)
  }

  tell(event: string, account: string): void {
    const what = `${event} ${account}`
    this.told.set(what, (this.told.get(what) ?? 0) + 1)
  }

  /** What an account owns, held and expired Credits included. */
  posted(name: string): bigint {
    return this.buckets.reduce((sum, bucket) => sum + (bucket.account === name ? bucket.posted : 0n), 0n)
  }

  /** What an account has of its own that is neither held nor expired. */
  free(name: string): bigint {
    let total = 0n
    for (const bucket of this.buckets)
      if (bucket.account === name && bucket.expires !== EXPIRED) total += bucket.posted - bucket.held
    return total
  }

  /** What an account may spend: its own, and of its owner's what the link's budget leaves. */
  spendable(name: string): bigint {
    const { own, owners } = this.funds(name)
    const room = roomOf(this.budget(this.account(name).link?.budget))
    return own + (room !== undefined && room < owners ? room : owners)
  }

  funds(name: string): { own: bigint; owners: bigint; owner: string | undefined } {
    const { link } = this.account(name)
    const own = link?.mode === 'owner_only' ? 0n : this.free(name)
    const owner =
      link && link.mode !== 'self_only' && !link.paused && this.account(link.owner).status === 'active'
        ? link.owner
        : undefined
    return { own, owners: owner === undefined ? 0n : this.free(owner), owner }
  }

  /** Sets Credits aside, in the order of use. */
  take(payers: readonly string[], amount: bigint): Part[] {
    const parts: Part[] = []
    let left = amount
    for (const bucket of this.inOrder(payers)) {
      if (left === 0n) break
      const free = bucket.posted - bucket.held
      const taken = free < left ? free : left
      bucket.held += taken
      left -= taken
      parts.push({ bucket, payer: bucket.account, amount: taken, captured: 0n })
    }
    if (left !== 0n) throw new Error('the model took more than there was')
    return parts
  }

  /** Takes Credits away for good; who falls below its threshold by it is told. */
  spend(bucket: Bucket, amount: bigint): void {
    if (amount === 0n) return
    const before = this.posted(bucket.account)
    const threshold = this.thresholds.get(bucket.account) ?? 0n
    bucket.posted -= amount
    if (before >= threshold && before - amount < threshold) this.tell('balance.low', bucket.account)
  }

  /** Takes away what an account's expired buckets have left; gives how much. */
  expire(name: string): bigint {
    let swept = 0n
    for (const bucket of this.buckets) {
      if (bucket.account !== name || bucket.expires !== EXPIRED) continue
      swept += bucket.posted - bucket.held
      this.spend(bucket, bucket.posted - bucket.held)
    }
    return swept
  }

  private inOrder(names: readonly string[]): Bucket[] {
    return names.flatMap((name) =>
      this.buckets
        .filter((b) => b.account === name && b.expires !== EXPIRED && b.posted > b.held)
        .sort(
          (a, b) =>
            (a.expires ?? NEVER) - (b.expires ?? NEVER) ||
            KIND_ORDER.indexOf(a.kind) - KIND_ORDER.indexOf(b.kind) ||
            this.buckets.indexOf(a) - this.buckets.indexOf(b),
        ),
    )
  }
}

/** The tightest room of a budget; undefined when nothing limits it. */
export function roomOf(budget: Budget | undefined): bigint | undefined {
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
