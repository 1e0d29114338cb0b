import fc from 'fast-check'
import type { TestDatabase } from '../../../test/database.ts'
import type { Caller } from '../../kernel/caller.ts'

/** One thing that happens to an owner, a rival of it, or the Agent that is linked to one of them at a time. */
export interface Step {
  readonly kind: (typeof kinds)[number]
  /** Whose: 0 the owner's, 1 the rival's, else the Agent's. */
  readonly who: number
  readonly amount: number
  readonly part: number
  readonly bucket: 'promo' | 'bonus' | 'purchased'
  readonly which: number
  readonly minutesLater: number
}

const kinds = [
  'grant',
  'grant',
  'expiring',
  'capture',
  'capture',
  'capture',
  'fail',
  'fail',
  'above',
  'release',
  'unknown',
  'late',
  'open',
  'authorize',
  'refund',
  'refund',
  'expire',
  'relink',
  'reorganise',
] as const

/** Histories of up to 40 steps. */
export const steps = fc.array(
  fc.record<Step>({
    kind: fc.constantFrom(...kinds),
    who: fc.integer({ min: 0, max: 4 }),
    amount: fc.integer({ min: 1, max: 500 }),
    part: fc.integer({ min: 0, max: 100 }),
    bucket: fc.constantFrom('promo', 'bonus', 'purchased'),
    which: fc.nat(1000),
    minutesLater: fc.integer({ min: 0, max: 60 }),
  }),
  { minLength: 1, maxLength: 40, size: 'max' },
)

/** Apart from each other, so that each history is rolled up on its own. */
const ERA_MS = 5 * 86_400_000
const FIRST_ERA = Date.UTC(1880, 0, 1)

/** A history that was lived. */
export interface Lived {
  /** The owner, its rival and the Agent, each with its key. */
  readonly callers: readonly Caller[]
  readonly start: number
  readonly end: number
}

/** The accounts of a history, and the ids of the calls that it has made so far. */
interface World {
  readonly owner: number
  readonly rival: number
  readonly agent: number
  readonly holds: number[]
}

/**
 * Runs the `nth` history as the ledger would, in one exchange with the database, then spreads its rows over two days,
 * some of the movements out of order: a transaction that waited for its lock is stamped before the one that it waited
 * for.
 */
export async function live(database: TestDatabase, nth: number, history: readonly Step[]): Promise<Lived> {
  const base = nth * 3
  const world: World = { owner: base + 1, rival: base + 2, agent: base + 3, holds: [] }
  const { owner, rival, agent } = world
  const start = FIRST_ERA + nth * ERA_MS
  await database.sql(
    [
      // ids that the ledger takes itself are above those that are chosen here
      `select setval('hold_ids', greatest(last_value, 1000000000)) from hold_ids`,
      `insert into families (id) values (${owner}), (${rival}), (${agent})`,
      `insert into accounts (id, account_type, family_id) overriding system value values
        (${owner}, 'owner', ${owner}), (${rival}, 'owner', ${rival}), (${agent}, 'agent', ${owner})`,
      `insert into api_keys (id, account_id, secret_hash, prefix, last4) overriding system value
        select id, id, convert_to('history ' || id, 'utf8'), 'fbx_', '' from accounts where id in (${owner}, ${rival}, ${agent})`,
      `insert into agent_links (agent_account_id, owner_account_id, billing_mode) values (${agent}, ${owner}, 'self_then_owner')`,
      ...history.flatMap((step, index) => {
        const hold = nth * 1000 + index + 1
        return callOf(world, step, hold) ?? deedOf(world, step, hold)
      }),
    ].join(';\n'),
  )
  const end = await spread(database, { accounts: [owner, rival, agent], firstHold: nth * 1000, start, history })
  return {
    callers: [owner, rival, agent].map((id) => ({
      accountId: BigInt(id),
      credential: { kind: 'api_key', id: BigInt(id) },
    })),
    start,
    end,
  }
}

const whoOf = ({ owner, rival, agent }: World, step: Step): number => [owner, rival][step.who] ?? agent
const apply = (operation: object): string => `select * from ledger_apply('${JSON.stringify([operation])}')`

/** A call and its end as statements; undefined for other steps. */
function callOf(world: World, step: Step, hold: number): string[] | undefined {
  const who = whoOf(world, step)
  const reserve = apply({
    operation: 'reserve',
    id: hold,
    request_id: `req_${hold}`,
    actor_account_id: who,
    credential_kind: 'api_key',
    credential_id: who,
    wanted_micro: step.amount,
    minimum_micro: 1,
    category: 'chat',
    subject: step.bucket,
    process_id: 1,
  })
  const usage = { input_tokens: step.part, output_tokens: 2 }
  const capture = (actual: number, outcome: string) =>
    apply({ operation: 'capture', id: hold, actual_micro: actual, outcome, usage })
  const within = Math.floor((step.amount * step.part) / 200)
  const ends: Partial<Record<Step['kind'], string[]>> = {
    capture: [capture(within, 'success')],
    fail: [capture(within, 'failed')],
    above: [capture(step.amount + step.part, step.part % 2 ? 'success' : 'failed')],
    release: [apply({ operation: 'void', id: hold, actual_micro: 0, outcome: 'failed' })],
    unknown: [apply({ operation: 'unknown', id: hold, reason: 'a test' })],
    open: [],
  }
  const end = ends[step.kind]
  if (!end) return undefined
  world.holds.push(hold)
  return [reserve, ...end]
}

/** What else happens, as statements. `n` names it. */
function deedOf(world: World, step: Step, n: number): string[] {
  const { owner, rival, agent, holds } = world
  const who = whoOf(world, step)
  const picked = holds[step.which % Math.max(holds.length, 1)] ?? 0
  switch (step.kind) {
    case 'grant':
    case 'expiring':
      return [
        `select * from ledger_grant('operator', 'history ${n}', ${who}, '${step.bucket}', ${step.amount * 3}, ${step.kind === 'expiring' ? `'2900-01-01'` : 'null'}, 'a test', 'operator:test')`,
      ]
    case 'late':
      return [
        apply({
          operation: 'capture',
          id: picked,
          actual_micro: step.part % 50,
          outcome: 'failed',
          usage: { input_tokens: 1, output_tokens: 2 },
        }),
      ]
    case 'authorize':
      return [owner, rival, agent].map((by) => `select * from ledger_authorize(${picked}, ${by})`)
    case 'refund':
      return [owner, rival, agent].map((by) => `select * from ledger_refund(${picked}, ${by}, 'a test')`)
    case 'expire':
      return [
        `update buckets set expires_at = now() - interval '1 second' where account_id = ${who} and expires_at > '2899-01-01'`,
        `select ledger_expire(${who})`,
      ]
    case 'reorganise':
      // the payment of a grant is in doubt: what is left of it is held, and given back or taken
      return [
        `select ledger_end_grant_hold(h.hold_id, g.id, ${step.part % 2 === 0}, 'operator:test', 'a test')
         from (select max(id) as id from credit_grants where account_id = ${who} having count(*) > 0) g
         cross join lateral ledger_hold_grant(g.id) h where h.hold_id is not null`,
      ]
    case 'relink': {
      const to = step.part % 2 ? owner : rival
      return [
        `update agent_links set owner_account_id = ${to} where agent_account_id = ${agent}`,
        `update accounts set family_id = ${to} where id = ${agent}`,
      ]
    }
    default:
      return []
  }
}

/** Gives the rows of a history times from `start` on; gives the last. */
async function spread(
  database: TestDatabase,
  {
    accounts,
    firstHold,
    start,
    history,
  }: { accounts: readonly number[]; firstHold: number; start: number; history: readonly Step[] },
): Promise<number> {
  const step = (index: number) => history[index % history.length]
  let at = start
  const moments = Array.from({ length: 160 }, (_, index) => {
    at += ((step(index)?.minutesLater ?? 0) * 60_000) / (index < 80 ? 1 : 10)
    return { began: at, moved: at - (step(index)?.part ?? 0) * 1000 }
  })
  const array = (of: (moment: { began: number; moved: number }) => number) =>
    `(array[${moments.map((moment) => `'${new Date(Math.max(of(moment), start)).toISOString()}'`).join(',')}]::timestamptz[])`
  const tables = ['transfers', 'holds', 'hold_resolutions']
  await database.sql(
    [
      ...tables.map((table) => `alter table ${table} disable trigger append_only`),
      `update transfers t set moved_at = ${array((moment) => moment.moved)}[least(r.n, 160)]
       from (select id, row_number() over (order by id) as n from transfers where account_id in (${accounts.join()})) r where r.id = t.id`,
      `update holds set created_at = ${array((moment) => moment.began)}[id - ${firstHold}] where id > ${firstHold} and id <= ${firstHold + 160}`,
      `update hold_resolutions r set resolved_at = h.created_at + interval '1 second' from holds h
       where h.id = r.hold_id and h.id > ${firstHold} and h.id <= ${firstHold + 160}`,
      ...tables.map((table) => `alter table ${table} enable trigger append_only`),
    ].join(';\n'),
  )
  return at
}
