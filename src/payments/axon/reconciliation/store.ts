import { type Selectable, sql } from 'kysely'
import type { Database } from '../../../db/database.ts'
import type { DB } from '../../../db/schema.ts'

/** One comparison. Amounts are digits of wei. */
export type Comparison = Selectable<DB['axon_reconciliations']>

/** The newest comparison of a recipient. */
export function newest(db: Database, chainId: bigint, address: string): Promise<Comparison | undefined> {
  return db
    .selectFrom('axon_reconciliations')
    .selectAll()
    .where('chain_id', '=', chainId)
    .where('address', '=', address)
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
}

/** The comparison with this number. */
export function byId(db: Database, id: bigint): Promise<Comparison> {
  return db.selectFrom('axon_reconciliations').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
}

/** The newest comparison there is: that of the recipient in use. */
export function latest(db: Database): Promise<Comparison | undefined> {
  return db.selectFrom('axon_reconciliations').selectAll().orderBy('id', 'desc').limit(1).executeTakeFirst()
}

/** Wei of payments to an address in these blocks, both included, that Credits were given for. */
export async function creditedWei(
  db: Database,
  of: { chainId: bigint; address: string; from: bigint; to: bigint },
): Promise<bigint> {
  const { rows } = await sql<{ wei: string }>`
    select coalesce(sum(received_wei), 0) as wei from axon_claims
    where chain_id = ${of.chainId} and recipient_address = ${of.address} and grant_id is not null and status = 'completed' and block between ${of.from} and ${of.to}`.execute(
    db,
  )
  return BigInt(rows[0]?.wei ?? 0)
}

/** Credits that the ledger gave for native payments, less what claims say they got: 0. */
export async function ledgerDrift(db: Database): Promise<bigint> {
  const { rows } = await sql<{ drift: string }>`
    select coalesce(sum(abs(coalesce(g.amount_micro, 0) - coalesce(c.credited_micro, 0))), 0) as drift
    from (select * from credit_grants where source = 'axon') g
    full join (select * from axon_claims where grant_id is not null) c on c.grant_id = g.id and c.account_id = g.account_id`.execute(
    db,
  )
  return BigInt(rows[0]?.drift ?? 0)
}

/** Keeps a comparison. */
export async function insert(
  db: Database,
  row: {
    chainId: bigint
    address: string
    block: bigint
    balance: bigint
    sentCount: bigint
    baseId: bigint | null
    received: bigint
    credited: bigint
  },
): Promise<void> {
  await db
    .insertInto('axon_reconciliations')
    .values({
      chain_id: row.chainId,
      address: row.address,
      block: row.block,
      balance: String(row.balance),
      sent_count: row.sentCount,
      base_id: row.baseId,
      received: String(row.received),
      credited: String(row.credited),
    })
    .execute()
}
