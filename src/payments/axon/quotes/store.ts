import type { Insertable, Selectable } from 'kysely'
import type { Database, Tx } from '../../../db/database.ts'
import type { DB } from '../../../db/schema.ts'
import type { OpenQuote } from '../judge.ts'

/** A quote, which is also an order. `expected_wei` and `rate` are digits. */
export type Quote = Selectable<DB['axon_quotes']>

/** Locks an account until the transaction ends: it makes one quote at a time. */
export async function lockAccount(tx: Tx, accountId: bigint): Promise<void> {
  await tx.selectFrom('accounts').select('id').where('id', '=', accountId).forNoKeyUpdate().execute()
}

/** How many quotes of an account hold their rate. */
export async function countOpen(tx: Tx, accountId: bigint, now: Date): Promise<number> {
  const { open } = await tx
    .selectFrom('axon_quotes')
    .select(({ fn }) => fn.countAll<bigint>().as('open'))
    .where('account_id', '=', accountId)
    .where('claim_id', 'is', null)
    .where('closed_at', 'is', null)
    .where('expires_at', '>', now)
    .executeTakeFirstOrThrow()
  return Number(open)
}

/** The amounts from `from` on, up to `to`, that a payment of the account could mean already. */
export async function takenAmounts(
  tx: Tx,
  of: { accountId: bigint; chainId: bigint; payToAddress: string; from: bigint; to: bigint },
): Promise<Set<bigint>> {
  const rows = await tx
    .selectFrom('axon_quotes')
    .select('expected_wei')
    .where('account_id', '=', of.accountId)
    .where('chain_id', '=', of.chainId)
    .where('pay_to_address', '=', of.payToAddress)
    .where('claim_id', 'is', null)
    .where('closed_at', 'is', null)
    .where('expected_wei', '>=', String(of.from))
    .where('expected_wei', '<=', String(of.to))
    .execute()
  return new Set(rows.map((row) => BigInt(row.expected_wei)))
}

/** Makes a quote. */
export function insert(tx: Tx, quote: Insertable<DB['axon_quotes']>): Promise<Quote> {
  return tx.insertInto('axon_quotes').values(quote).returningAll().executeTakeFirstOrThrow()
}

/** A quote by its number. */
export function find(db: Database | Tx, id: bigint): Promise<Quote | undefined> {
  return db.selectFrom('axon_quotes').selectAll().where('id', '=', id).executeTakeFirst()
}

/** The quote of an account that a payment of this amount to this recipient means. */
export async function meant(
  db: Database | Tx,
  of: { accountId: bigint; chainId: bigint; payToAddress: string; wei: bigint },
): Promise<OpenQuote | undefined> {
  const row = await db
    .selectFrom('axon_quotes')
    .select(['id', 'credit_micro', 'created_at', 'expires_at'])
    .where('account_id', '=', of.accountId)
    .where('chain_id', '=', of.chainId)
    .where('pay_to_address', '=', of.payToAddress)
    .where('expected_wei', '=', String(of.wei))
    .where('claim_id', 'is', null)
    .where('closed_at', 'is', null)
    .executeTakeFirst()
  return row && { id: row.id, creditMicro: row.credit_micro, createdAt: row.created_at, expiresAt: row.expires_at }
}

/** Gives a quote to the claim that paid it: of any number of claims at once, one is told true. */
export async function use(tx: Tx, id: bigint, claimId: bigint): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('axon_quotes')
    .set({ claim_id: claimId })
    .where('id', '=', id)
    .where('claim_id', 'is', null)
    .where('closed_at', 'is', null)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

/** Closes quotes that ended before this moment: a payment of their amount means them no more. */
export async function closeBefore(db: Database, before: Date, at: Date): Promise<void> {
  await db
    .updateTable('axon_quotes')
    .set({ closed_at: at })
    .where('claim_id', 'is', null)
    .where('closed_at', 'is', null)
    .where('expires_at', '<', before)
    .execute()
}

/** Whether there is a quote that a payment can still mean: then rates are sampled. */
export async function anyMeant(db: Database): Promise<boolean> {
  const found = await db
    .selectFrom('axon_quotes')
    .select('id')
    .where('claim_id', 'is', null)
    .where('closed_at', 'is', null)
    .limit(1)
    .executeTakeFirst()
  return found !== undefined
}
