import { type Microcredits, microcredits } from '../../src/kernel/money.ts'
import type { Reserve } from '../../src/ledger/operations.ts'
import type { TestDatabase } from '../database.ts'

/** One owner with Credits and a key, in a database that is otherwise empty. */
export const OWNER = 1n
const KEY = 1n

/** Makes the owner, its Credits and its key; `total` limits what the key may spend. */
export async function makeEconomy(database: TestDatabase, credits: bigint, total?: bigint): Promise<void> {
  await database.sql(`insert into families (id) values (1)`)
  await database.sql(`insert into accounts (account_type, family_id) values ('owner', 1)`)
  if (credits > 0n)
    await database.sql(`select ledger_grant('operator', 'opening', 1, 'promo', $1, null, 'a test', 'operator:test')`, [
      credits,
    ])
  if (total !== undefined) await database.sql(`insert into budgets (total_micro) values ($1)`, [total])
  await database.sql(
    `insert into api_keys (account_id, secret_hash, prefix, last4, budget_id) values (1, '\\x00', 'fbx_', '', $1)`,
    [total === undefined ? null : 1],
  )
}

/** A reserve of the owner's key that may not be clamped. */
export const reserveOf = (holdId: bigint, wanted: bigint): Reserve => ({
  operation: 'reserve',
  holdId,
  requestId: `request ${holdId}`,
  actorAccountId: OWNER,
  credential: { kind: 'api_key', id: KEY },
  wantedMicro: microcredits(wanted),
  minimumMicro: microcredits(wanted),
  category: 'model',
  subject: 'test',
  detail: null,
})

/** What the owner has and holds now. */
export async function balanceOf(database: TestDatabase): Promise<{ posted: bigint; held: bigint; charged: bigint }> {
  const [row] = await database.sql<{ posted: string; held: string; charged: string }>(`
    select (select coalesce(sum(posted_micro), 0) from buckets) as posted, (select coalesce(sum(held_micro), 0) from buckets) as held,
           (select coalesce(sum(amount_micro), 0) from transfers where kind = 'capture') as charged`)
  if (!row) throw new Error('no balance')
  return { posted: BigInt(row.posted), held: BigInt(row.held), charged: BigInt(row.charged) }
}

export const amount = (value: number | bigint): Microcredits => microcredits(BigInt(value))
