import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { migrate } from '../src/db/migrate.ts'
import { startPostgres } from '../src/embedded/postgres.ts'
import { generators } from './generators.ts'

/** `npm run generate`: writes every generated file again, from the code and from a database made for this run. */
const folder = await mkdtemp(join(tmpdir(), 'farebox-generate-'))
const postgres = await startPostgres({
  dataFolder: folder,
  log: () => undefined,
  environment: process.env,
})
try {
  const databaseUrl = await freshDatabase()
  for (const { name, generate } of generators) {
    const files = Object.entries(await generate(databaseUrl))
    for (const [path, content] of files) await writeFile(new URL(`../${path}`, import.meta.url), content)
    console.log(`${name}: ${files.map(([path]) => path).join(', ')}`)
  }
} finally {
  await postgres.stop()
  await rm(folder, { recursive: true, force: true })
}

/** A migrated database whose owner is an ordinary role, as an operator's would be. */
async function freshDatabase(): Promise<string> {
  const admin = new pg.Client({ connectionString: postgres.url('postgres', postgres.superuser) })
  await admin.connect()
  await admin.query('create role farebox login createrole')
  await admin.query('create database farebox owner farebox')
  await admin.end()
  const url = postgres.url('farebox', 'farebox')
  await migrate(url)
  return url
}
