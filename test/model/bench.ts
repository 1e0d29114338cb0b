import pg from 'pg'
import { exactTypes } from '../../src/db/database.ts'
import { freshDatabase } from '../database.ts'
import { BALANCES, BALANCES_AND_HOLDS, type Balances } from './balances.ts'
import { reduced } from './statements.ts'
import { opening } from './world.ts'

/** What one statement answered, and what could be seen right after it. */
export interface Observed {
  readonly answer: unknown
  /** Null where they were not looked at. */
  readonly balances: Balances | null
  /** What the audit found; where it was not asked, nothing. */
  readonly findings: readonly unknown[]
}

/** A database with the people of the model test in it, which forgets everything else after each run. */
export interface Bench {
  readonly client: pg.Client
  /** Inside a transaction that is taken back: the statements, in order, with what is seen after each. */
  observe(statements: readonly string[], every: { balances: number; holds: number; audit: number }): Promise<Observed[]>
  /** Runs the statements without looking. */
  run(statements: readonly string[]): Promise<void>
  close(): Promise<void>
}

/** Runs in the database what would otherwise be one exchange for each statement and each look. */
const OBSERVER = `
create function observe(statements text[], balances_every int, holds_every int, audit_every int) returns table (answer json, balances json, findings json) language plpgsql as $$
begin
  for n in 1 .. coalesce(cardinality(statements), 0) loop
    execute statements[n] into answer;
    balances := null;
    if n % holds_every = 0 or n = cardinality(statements) then
      execute $q$${BALANCES_AND_HOLDS}$q$ into balances;
    elsif n % balances_every = 0 then
      execute $q$${BALANCES}$q$ into balances;
    end if;
    findings := '[]';
    if n % audit_every = 0 or n = cardinality(statements) then
      select coalesce(json_agg(a), '[]') into findings from ledger_audit() a where a.check_name <> 'open_hold_without_process';
    end if;
    return next;
  end loop;
end $$;
create function run_all(statements text[]) returns void language plpgsql as $$
begin
  for n in 1 .. coalesce(cardinality(statements), 0) loop execute statements[n]; end loop;
end $$`

/** Makes the database; `close` drops it. */
export async function openBench(): Promise<Bench> {
  const database = await freshDatabase()
  const client = new pg.Client({ connectionString: database.url, types: exactTypes })
  await client.connect()
  await client.query(OBSERVER)
  const run = async (statements: readonly string[]) => void (await client.query('select run_all($1)', [statements]))
  await run(opening())
  return {
    client,
    run,
    async observe(statements, every) {
      await client.query('begin')
      try {
        const { rows } = await client.query('select * from observe($1, $2, $3, $4)', [
          statements,
          every.balances,
          every.holds,
          every.audit,
        ])
        return rows.map((row) => ({ ...row, answer: reduced(row.answer) }))
      } finally {
        await client.query('rollback')
      }
    },
    async close() {
      await client.end()
      await database.drop()
    },
  }
}
