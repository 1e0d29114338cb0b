import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Generated } from './generators.ts'

const codegen = fileURLToPath(new URL('../node_modules/kysely-codegen/dist/cli/bin.js', import.meta.url))

const header = `/**
 * Generated from the migrated database by \`npm run generate\` (kysely-codegen). Do not edit: write a migration.
 */
`

/** The types of tables and enums that queries are checked against, exactly as PostgreSQL has them. */
export async function generateSchemaTypes(databaseUrl: string): Promise<Generated> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [
      codegen,
      ...['--dialect', 'postgres', '--url', databaseUrl, '--print', '--log-level', 'error'],
      ...['--type-mapping', '{"int8":"bigint"}', '--exclude-pattern', 'schema_migrations'],
    ],
    { timeout: 60_000 },
  )
  const start = stdout.indexOf('import type')
  if (start < 0) throw new Error(`kysely-codegen printed no types: ${stdout.slice(0, 500)}`)
  return { 'src/db/schema.ts': `${header}\n${stdout.slice(start).trimEnd()}\n` }
}
