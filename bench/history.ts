import pg from 'pg'
import { GRANT_MICRO } from './database.ts'
import { CALL_MICRO } from './workload.ts'

/** Calls that one statement writes: a transaction each, so that progress can be told. */
const BATCH = 250_000
const HOLD_MICRO = 4n * CALL_MICRO

/**
 * Writes `count` finished calls as if they had been made over the last 90 days, dealt to the accounts in turn:
 * holds, allocations, resolutions and transfers as the ledger would have written them, with the balances that
 * follow from them, so that ledger_audit() stays empty. Written as the owner of the schema, before any server
 * runs on the database. Returns when the tables are analysed, as autovacuum would leave them.
 */
export async function writeHistory(
  economy: { readonly url: string; readonly accounts: ReadonlyArray<{ readonly id: bigint }> },
  count: number,
  progress: (written: number) => void,
): Promise<void> {
  const client = new pg.Client({ connectionString: economy.url })
  await client.connect()
  try {
    // nobody waits for these rows one by one, and a crash only costs this run
    await client.query('set synchronous_commit = off')
    await client.query(`create temporary table dealt as
      select row_number() over (order by b.account_id)::bigint - 1 as turn, b.account_id, b.id as bucket_id, k.id as key_id, a.family_id
      from buckets b join accounts a on a.id = b.account_id join api_keys k on k.account_id = a.id
      where a.id in (${economy.accounts.map(({ id }) => String(id)).join(', ')})`)
    await client.query('create unique index on dealt (turn)')
    await client.query('analyze dealt')
    const first = await nextIds(client, count)
    for (let from = 0; from < count; from += BATCH) {
      const to = Math.min(from + BATCH, count)
      await client.query('begin')
      for (const statement of batchStatements)
        await client.query(
          statement,
          parametersOf(statement, { from, to, count, first, accounts: economy.accounts.length }),
        )
      await client.query('commit')
      progress(to)
    }
    await client.query(`update buckets b set posted_micro = b.posted_micro - c.total
      from (select debit_id, sum(amount_micro)::bigint as total from transfers where kind = 'capture' group by debit_id) c where c.debit_id = b.id`)
    for (const table of ['holds', 'hold_allocations', 'hold_resolutions', 'transfers', 'buckets'])
      await client.query(`vacuum (analyze) ${table}`)
    await client.query('checkpoint').catch(() => undefined)
  } finally {
    await client.end()
  }
}

/** Takes ids for `count` holds and as many transfers, so that the server's own come after them. */
async function nextIds(client: pg.Client, count: number): Promise<{ hold: bigint; transfer: bigint }> {
  const transfers = `pg_get_serial_sequence('transfers', 'id')`
  const { rows } = await client.query<{ hold: string; transfer: string }>(
    `select nextval('hold_ids') as hold, nextval(${transfers}) as transfer`,
  )
  const ids = { hold: BigInt(rows[0]?.hold ?? 0), transfer: BigInt(rows[0]?.transfer ?? 0) }
  // blocks of a thousand: the next one begins after the last hold
  await client.query(`select setval('hold_ids', $1::bigint), setval(${transfers}, $2::bigint)`, [
    ids.hold + BigInt(Math.ceil(count / 1000)) * 1000n,
    ids.transfer + BigInt(count),
  ])
  return ids
}

interface Batch {
  readonly from: number
  readonly to: number
  readonly count: number
  readonly first: { readonly hold: bigint; readonly transfer: bigint }
  readonly accounts: number
}

/** The values of the placeholders that a statement has: $1 to $8 in this order. */
function parametersOf(statement: string, { from, to, count, first, accounts }: Batch): unknown[] {
  const all = [from, to, accounts, count, first.hold, first.transfer, CALL_MICRO, GRANT_MICRO]
  const used = Math.max(...[...statement.matchAll(/\$(\d)/g)].map((match) => Number(match[1])))
  return all.slice(0, used)
}

// Every statement names all parameters up to its last, so that each has a type.
const calls = `(select n, d.*, now() - interval '90 days' * (1 - n::float8 / $4::int) as at
  from generate_series($1::int, $2::int - 1) n join dealt d on d.turn = n % $3::int) c`

const batchStatements = [
  `insert into holds (id, request_id, actor_account_id, family_id, credential_kind, credential_id, category, subject, reserve_micro, wanted_micro, minimum_micro, created_at)
   select $5::bigint + c.n, 'req_' || md5('bench ' || c.n), c.account_id, c.family_id, 'api_key', c.key_id, 'chat', 'mock-0ms', ${HOLD_MICRO}, ${HOLD_MICRO}, ${HOLD_MICRO}, c.at from ${calls} order by c.n`,
  `insert into hold_allocations (hold_id, n, bucket_id, payer_account_id, amount_micro)
   select $5::bigint + c.n, 0, c.bucket_id, c.account_id, ${HOLD_MICRO} from ${calls} order by c.n`,
  `insert into hold_resolutions (hold_id, kind, outcome, actual_micro, usage, resolved_at)
   select $5::bigint + c.n, 'captured', 'success', ${CALL_MICRO}, '{"prompt_tokens":16,"completion_tokens":32}', c.at from ${calls} order by c.n`,
  `insert into transfers (id, kind, debit_id, credit_id, amount_micro, account_id, balance_after_micro, hold_id, moved_at) overriding system value
   select $6::bigint + c.n, 'capture', c.bucket_id, -3, $7::bigint, c.account_id, $8::bigint - $7::bigint * (c.n / $3::int + 1), $5::bigint + c.n, c.at from ${calls} order by c.n`,
]
