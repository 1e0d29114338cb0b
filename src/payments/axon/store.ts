import { type Insertable, type Selectable, sql } from 'kysely'
import type { Database, Tx } from '../../db/database.ts'
import type { AxonClaimStatus, DB, JsonObject } from '../../db/schema.ts'
import { assert } from '../../kernel/assert.ts'
import { endGrantHold } from '../../ledger/review-holds.ts'
import type { Event } from './states.ts'

/** A hash that an account claims as its payment. `received_wei` is digits. */
export type Claim = Selectable<DB['axon_claims']>
/** What a move changes of it. */
export type ClaimChange = Partial<Insertable<DB['axon_claims']>>

/** The log position that stands for the transaction's own value: tokens have positions from 0. */
const NATIVE_POSITION = -1

/** The claim of an account, made now unless it is there. The account's row is locked: one claim is counted at a time. */
export async function claim(
  tx: Tx,
  wanted: { accountId: bigint; chainId: bigint; txHash: string; at: Date; openMax: number; refusedMax: number },
): Promise<Claim | 'too_many'> {
  await tx.selectFrom('accounts').select('id').where('id', '=', wanted.accountId).forNoKeyUpdate().execute()
  const known = await tx
    .selectFrom('axon_claims')
    .selectAll()
    .where('account_id', '=', wanted.accountId)
    .where('chain_id', '=', wanted.chainId)
    .where('tx_hash', '=', wanted.txHash)
    .executeTakeFirst()
  if (known) return known
  const dayAgo = new Date(wanted.at.getTime() - 24 * 3_600_000)
  const { rows } = await sql<{ open: bigint; refused: bigint }>`
    select count(*) filter (where status in ('pending', 'confirming')) as open,
           count(*) filter (where status = 'failed' and claimed_at > ${dayAgo}) as refused
    from axon_claims where account_id = ${wanted.accountId} and status in ('pending', 'confirming', 'failed')`.execute(
    tx,
  )
  const counted = rows[0]
  if (counted && (counted.open >= BigInt(wanted.openMax) || counted.refused >= BigInt(wanted.refusedMax)))
    return 'too_many'
  const made = await tx
    .insertInto('axon_claims')
    .values({
      account_id: wanted.accountId,
      chain_id: wanted.chainId,
      tx_hash: wanted.txHash,
      claimed_at: wanted.at,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
  const actor = `account:${wanted.accountId}`
  await record(tx, made.id, null, { event: 'claim', to: 'pending', actor, at: wanted.at })
  return made
}

/** A claim as it is now, without a lock. */
export function find(db: Database | Tx, id: bigint): Promise<Claim | undefined> {
  return db.selectFrom('axon_claims').selectAll().where('id', '=', id).executeTakeFirst()
}

/** The claim that pays a quote, or is about to. */
export function ofQuote(db: Database, quoteId: bigint): Promise<Claim | undefined> {
  return db
    .selectFrom('axon_claims')
    .selectAll()
    .where('quote_id', '=', quoteId)
    .where('status', '<>', 'pending')
    .orderBy(sql`grant_id is null`)
    .orderBy('id')
    .limit(1)
    .executeTakeFirst()
}

/** A claim with its row locked until the transaction ends: its moves are serial. */
export function lock(tx: Tx, id: bigint): Promise<Claim | undefined> {
  return tx.selectFrom('axon_claims').selectAll().where('id', '=', id).forUpdate().executeTakeFirst()
}

/** A move of a claim. */
export interface Move {
  readonly event: Event
  readonly to: AxonClaimStatus
  readonly actor: string
  readonly at: Date
  readonly change?: ClaimChange
  readonly data?: JsonObject
}

/** Moves a locked claim and records the event. Only a row that is still in its status moves. */
export async function move(tx: Tx, from: Claim, made: Move): Promise<Claim> {
  await record(tx, from.id, from.status, made)
  return tx
    .updateTable('axon_claims')
    .set({ ...made.change, status: made.to })
    .where('id', '=', from.id)
    .where('status', '=', from.status)
    .returningAll()
    .executeTakeFirstOrThrow()
}

async function record(
  tx: Tx,
  claimId: bigint,
  from: AxonClaimStatus | null,
  made: Omit<Move, 'event'> & { readonly event: Event | 'claim' },
): Promise<void> {
  await tx
    .insertInto('axon_events')
    .values((eb) => ({
      claim_id: claimId,
      n: eb
        .selectFrom('axon_events')
        .select(sql<number>`coalesce(max(n), 0) + 1`.as('n'))
        .where('claim_id', '=', claimId),
      event: made.event,
      from_status: from,
      to_status: made.to,
      actor: made.actor,
      data: JSON.stringify(made.data ?? {}),
      at: made.at,
    }))
    .execute()
}

/** Claims of a chain that are to be looked at, the one that was looked at longest ago first. */
export function due(db: Database, chainId: bigint, limit: number): Promise<Claim[]> {
  return db
    .selectFrom('axon_claims')
    .selectAll()
    .where('chain_id', '=', chainId)
    .where('final', '=', false)
    .orderBy('looked_at', (order) => order.asc().nullsFirst())
    .orderBy('id')
    .limit(limit)
    .execute()
}

/** Whether somebody waits for a payment to be confirmed. */
export async function someoneWaits(db: Database, chainId: bigint): Promise<boolean> {
  const found = await db
    .selectFrom('axon_claims')
    .select('id')
    .where('chain_id', '=', chainId)
    .where('status', 'in', ['pending', 'confirming'])
    .limit(1)
    .executeTakeFirst()
  return found !== undefined
}

/** How many claims stand where somebody has to do something yet: the chain, or an operator. */
export async function countUndone(db: Database): Promise<Record<'pending' | 'confirming' | 'review_required', number>> {
  const rows = await db
    .selectFrom('axon_claims')
    .select(['status', ({ fn }) => fn.countAll<bigint>().as('count')])
    .where('status', 'in', ['pending', 'confirming', 'review_required'])
    .groupBy('status')
    .execute()
  return {
    pending: 0,
    confirming: 0,
    review_required: 0,
    ...Object.fromEntries(rows.map((row) => [row.status, Number(row.count)])),
  }
}

/** Notes that a claim was looked at, so that others have their turn. */
export async function noteLook(db: Database, id: bigint, at: Date): Promise<void> {
  await db.updateTable('axon_claims').set({ looked_at: at }).where('id', '=', id).execute()
}

/** Who has a transaction already, as `rail:id`: of any rail and whatever part of it. */
export async function holderOf(db: Database | Tx, chainId: bigint, txHash: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('chain_receipts')
    .innerJoin('credit_grants', 'credit_grants.id', 'chain_receipts.grant_id')
    .select(['source', 'source_id'])
    .where('chain_id', '=', chainId)
    .where('tx_hash', '=', txHash)
    .orderBy('log_position')
    .limit(1)
    .executeTakeFirst()
  return row && `${row.source}:${row.source_id}`
}

/** Ends what a review holds of a claim's Credits, if it holds any. Gives what was taken, in microcredits. */
export async function endHold(
  tx: Tx,
  { review_hold_id: holdId, grant_id: grantId }: Pick<Claim, 'review_hold_id' | 'grant_id'>,
  ending: { readonly take: boolean; readonly by: string; readonly reason: string },
): Promise<bigint> {
  return holdId === null || grantId === null ? 0n : endGrantHold(tx, { holdId, grantId }, ending)
}

/** Gives a claim its Credits, once over all rails. `taken`: another purchase has the transaction, and who. */
export async function grant(
  tx: Tx,
  { id, chain_id: chainId, tx_hash: txHash, account_id: accountId }: Claim,
  given: { creditMicro: bigint; reason: string },
): Promise<{ readonly grantId: bigint } | { readonly takenBy: string }> {
  const { rows } = await sql<{ outcome: string; grant_id: bigint; taken_by: string | null }>`
    select outcome, grant_id, taken_by from ledger_grant_receipt(${chainId}, ${txHash}, ${NATIVE_POSITION},
      'axon', ${String(id)}, ${accountId}, ${given.creditMicro}, ${given.reason})`.execute(tx)
  const row = rows[0]
  assert(row, 'the ledger answered nothing to a receipt')
  assert(row.outcome !== 'paid_before', 'a claim has one transaction for ever')
  return row.outcome === 'taken' ? { takenBy: row.taken_by ?? '' } : { grantId: row.grant_id }
}

/** Tells the world later of what became true in this transaction. */
export async function tell(
  tx: Tx,
  event: 'payment.credited' | 'payment.review_required',
  claimed: Claim,
  at: Date,
): Promise<void> {
  const id = `axon:${claimed.id}`
  const payload = {
    payment_id: id,
    rail: 'axon',
    account_id: Number(claimed.account_id),
    tx_hash: claimed.tx_hash,
    credit_micro: String(claimed.credited_micro ?? 0n),
    review_reason: claimed.reason,
    at: at.toISOString(),
  }
  await tx
    .insertInto('outbox')
    .values({ event, account_id: claimed.account_id, object_id: id, payload: JSON.stringify(payload) })
    .execute()
}
