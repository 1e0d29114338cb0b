import type pg from 'pg'

/** Settings without which an acknowledged charge could be lost in a crash. */
const required = ['fsync', 'full_page_writes', 'synchronous_commit'] as const

/** What is wrong with the server's durability, one sentence each; empty when every commit survives a crash. */
export async function durabilityProblems(pool: pg.Pool): Promise<string[]> {
  const { rows } = await pool.query<{ name: string; setting: string }>(
    'select name, setting from pg_settings where name = any ($1)',
    [required],
  )
  return rows
    .filter(({ setting }) => setting === 'off')
    .map(
      ({ name }) =>
        `${name} is off: a crash of the database would lose charges that were acknowledged. Set ${name} = on.`,
    )
}
