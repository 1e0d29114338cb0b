import { type RawBuilder, sql } from 'kysely'
import type { Database, Tx } from '../../db/database.ts'
import type { AccountType, ResolutionKind } from '../../db/schema.ts'

/** An item with what decides about it. Amounts in JSON are exact: they stay below 2^53. */
export interface SettlementRow {
  readonly id: bigint
  readonly hold_id: bigint
  readonly request_id: string
  readonly actor_account_id: bigint
  readonly reserve_micro: bigint
  /** What the call cost, where it is known. */
  readonly actual_micro: bigint | null
  readonly resolution: ResolutionKind | null
  /** True while it waits for its payers: its cost is known and above the hold. */
  readonly short: boolean
  readonly authorized: boolean
  readonly viewer_type: AccountType
  /** True when the viewer is the owner of the account that made the call, now. */
  readonly viewer_owns_actor: boolean
  /** Who paid the hold, in the order of use, with the part of the shortfall that each would pay. */
  readonly payers: ReadonlyArray<{
    account_id: number
    reserved_micro: number
    part_micro: number
    available_micro: number
  }>
}

const read = (viewer: bigint, page: RawBuilder<unknown>) => sql<SettlementRow>`
  select s.id, h.id as hold_id, h.request_id, h.actor_account_id, h.reserve_micro, coalesce(r.actual_micro, short.actual_micro)::bigint as actual_micro,
         r.kind as resolution, r.hold_id is null and short.hold_id is not null as short,
         exists (select from settlement_authorizations z where z.hold_id = h.id) as authorized,
         (select account_type from accounts where id = ${viewer}) as viewer_type,
         exists (select from agent_links l where l.agent_account_id = h.actor_account_id and l.owner_account_id = ${viewer}) as viewer_owns_actor,
         (select coalesce(json_agg(json_build_object('account_id', p.payer_account_id, 'reserved_micro', p.reserved_micro, 'part_micro', p.part_micro,
                                                     'available_micro', account_available_micro(p.payer_account_id)) order by p.n), '[]')
          from settlement_parts(h.id, coalesce(short.actual_micro - h.reserve_micro, 0)) p) as payers
  from (${page}) s
  join holds h on h.id = s.hold_id
  left join hold_resolutions r on r.hold_id = h.id
  left join hold_flags short on short.hold_id = h.id and short.flag = 'shortfall'
  order by s.id desc`

const OPEN = sql`and not exists (select from hold_resolutions r where r.hold_id = s.hold_id)`

/** The newest items that concern an account, below `beforeId` when that is not 0. One walk down the account's own list. */
export async function list(
  db: Database,
  viewer: bigint,
  wanted: { all: boolean; beforeId: bigint; limit: number },
): Promise<SettlementRow[]> {
  const below = wanted.beforeId === 0n ? sql`` : sql`and p.settlement_id < ${wanted.beforeId}`
  const page = sql`
    select s.id, s.hold_id from settlement_parties p join settlements s on s.id = p.settlement_id
    where p.account_id = ${viewer} ${below} ${wanted.all ? sql`` : OPEN}
    order by p.settlement_id desc limit ${wanted.limit}`
  return (await read(viewer, page).execute(db)).rows
}

/** The item of a request, when it concerns the account. */
export async function find(db: Database | Tx, viewer: bigint, requestId: string): Promise<SettlementRow | undefined> {
  const page = sql`
    select s.id, s.hold_id from holds h join settlements s on s.hold_id = h.id
    join settlement_parties p on p.settlement_id = s.id and p.account_id = ${viewer}
    where h.request_id = ${requestId}`
  return (await read(viewer, page).execute(db)).rows[0]
}
