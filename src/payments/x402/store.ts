import { type Selectable, sql } from 'kysely'
import type { Database, Tx } from '../../db/database.ts'
import type { DB, JsonObject, X402Status } from '../../db/schema.ts'
import type { Payment } from './model.ts'
import type { Event } from './states.ts'

/** What names a payment for ever (decisions 7). Lower case. */
export interface Identity {
  readonly chainId: bigint
  readonly token: string
  readonly payer: string
  readonly nonce: string
}

/** What a move may change besides the status. What was authorized is not among it. */
type Change = Partial<
  Pick<
    Payment,
    'tx_hash' | 'log_position' | 'block' | 'grant_id' | 'credit_micro' | 'reason' | 'credited_at' | 'final_at'
  >
>

/** The payment of an authorization. */
export function findByIdentity(db: Database | Tx, identity: Identity): Promise<Payment | undefined> {
  return db
    .selectFrom('x402_payments')
    .selectAll()
    .where('chain_id', '=', identity.chainId)
    .where('token_address', '=', identity.token)
    .where('payer', '=', identity.payer)
    .where('nonce', '=', identity.nonce)
    .executeTakeFirst()
}

/** The payment with this id. */
export function find(db: Database | Tx, id: bigint): Promise<Payment | undefined> {
  return db.selectFrom('x402_payments').selectAll().where('id', '=', id).executeTakeFirst()
}

/** The payment with its row locked. */
export function lock(tx: Tx, id: bigint): Promise<Payment> {
  return tx.selectFrom('x402_payments').selectAll().where('id', '=', id).forUpdate().executeTakeFirstOrThrow()
}

/** Stores a payment, once for each authorization; undefined: another request did. Waits for one that is about to. */
export async function insert(
  tx: Tx,
  row: Omit<Payment, 'id' | 'status' | 'grant_id' | 'reason' | 'credited_at' | 'final_at'>,
): Promise<Payment | undefined> {
  const payment = await tx
    .insertInto('x402_payments')
    .values(row)
    .onConflict((conflict) => conflict.columns(['chain_id', 'token_address', 'payer', 'nonce']).doNothing())
    .returningAll()
    .executeTakeFirst()
  if (payment) await record(tx, payment, { from: null, to: payment.status, event: 'store', at: row.created_at })
  return payment
}

/** Moves a locked payment and writes the move down. */
export async function move(
  tx: Tx,
  payment: Payment,
  {
    event,
    to,
    at,
    change = {},
    data = {},
  }: { event: Event; to: X402Status; at: Date; change?: Change; data?: JsonObject },
): Promise<void> {
  await tx
    .updateTable('x402_payments')
    .set({ ...change, status: to })
    .where('id', '=', payment.id)
    .execute()
  await record(tx, payment, { from: payment.status, to, event, at, data })
}

/** Notes facts that are no move. */
export async function note(db: Database | Tx, id: bigint, change: Change): Promise<void> {
  await db.updateTable('x402_payments').set(change).where('id', '=', id).execute()
}

async function record(
  tx: Tx,
  payment: Payment,
  move: { from: X402Status | null; to: X402Status; event: Event | 'store'; at: Date; data?: JsonObject },
): Promise<void> {
  await sql`insert into x402_events (payment_id, n, from_status, to_status, event, data, at)
    values (${payment.id}, (select count(*) + 1 from x402_events where payment_id = ${payment.id}),
      ${move.from}, ${move.to}, ${move.event}, ${JSON.stringify(move.data ?? {})}, ${move.at})`.execute(tx)
}

/**
 * Takes payments that are due to be looked at, and puts off when anybody looks at them again: soon while they are
 * young, and seldom once they are credited. Processes share them out that way.
 */
export async function takeDue(
  db: Database,
  { now, soonMs, laterMs, limit }: { now: Date; soonMs: number; laterMs: number; limit: number },
): Promise<Payment[]> {
  const { rows } = await sql<Payment>`
    update x402_payments p set next_look_at = ${now}::timestamptz + case
      when p.status in ('awaiting_settlement', 'pending') and p.created_at > ${now}::timestamptz - interval '2 minutes'
        then ${soonMs}::double precision
      when p.status = 'credited' then 4 * ${laterMs}::double precision
      else ${laterMs}::double precision end * interval '1 millisecond'
    where p.id in (
      select id from x402_payments
      where final_at is null and status <> 'failed' and next_look_at <= ${now}
        and (status <> 'review_required' or grant_id is not null)
      order by next_look_at limit ${limit} for update skip locked)
    returning p.*`.execute(db)
  return rows
}

/** Whether a payment is under way. */
export async function anyOpen(db: Database): Promise<boolean> {
  const found = await db
    .selectFrom('x402_payments')
    .select('id')
    .where('status', 'in', ['awaiting_settlement', 'pending'])
    .limit(1)
    .executeTakeFirst()
  return found !== undefined
}

/** Payments that are open or in review, oldest first. */
export function unfinished(db: Database, limit: number): Promise<Payment[]> {
  return db
    .selectFrom('x402_payments')
    .selectAll()
    .where('status', 'in', ['awaiting_settlement', 'pending', 'review_required'])
    .orderBy('id')
    .limit(limit)
    .execute()
}

/** Everything that happened to a payment, oldest first. */
export function events(db: Database, id: bigint): Promise<Selectable<DB['x402_events']>[]> {
  return db.selectFrom('x402_events').selectAll().where('payment_id', '=', id).orderBy('n').execute()
}

/** How many payments there are of the statuses that somebody watches. */
export async function countByStatus(db: Database): Promise<Readonly<Record<'open' | 'review_required', number>>> {
  const rows = await db
    .selectFrom('x402_payments')
    .select(['status', (eb) => eb.fn.countAll<bigint>().as('count')])
    .where('status', 'in', ['awaiting_settlement', 'pending', 'review_required'])
    .groupBy('status')
    .execute()
  const of = (...statuses: X402Status[]) =>
    rows.filter(({ status }) => statuses.includes(status)).reduce((sum, { count }) => sum + Number(count), 0)
  return { open: of('awaiting_settlement', 'pending'), review_required: of('review_required') }
}

/** New payments of a wallet since a time. */
export async function countOfPayer(db: Database, payer: string, since: Date): Promise<number> {
  const { count } = await db
    .selectFrom('x402_payments')
    .select((eb) => eb.fn.countAll<bigint>().as('count'))
    .where('payer', '=', payer)
    .where('created_at', '>', since)
    .executeTakeFirstOrThrow()
  return Number(count)
}

/** Payments that credit an account, newest first, below an id. */
export function list(db: Database, accountId: bigint, before: bigint | undefined, limit: number): Promise<Payment[]> {
  return db
    .selectFrom('x402_payments')
    .selectAll()
    .where('account_id', '=', accountId)
    .$if(before !== undefined, (query) => query.where('id', '<', before ?? 0n))
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
}
