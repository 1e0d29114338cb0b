import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import type { TestProject } from 'vitest/node'
import { migrate } from '../src/db/migrate.ts'
import { startPostgres } from '../src/embedded/postgres.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** Folder of the cluster's socket. */
    socketFolder: string
  }
}

/** The migrated database that each test file copies. */
export const TEMPLATE = 'farebox_template'

/** One real PostgreSQL for the whole run, on its own data folder; gone with it. */
// biome-ignore lint/style/noDefaultExport: the runner calls the default export
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'farebox-test-'))
  const postgres = await startPostgres({
    dataFolder: folder,
    log: () => undefined,
    environment: process.env,
    settings: { max_connections: '200' },
  })
  const admin = new pg.Client({ connectionString: postgres.url('postgres', 'postgres') })
  await admin.connect()
  await admin.query(`create role farebox login createrole`)
  await admin.query(`create database ${TEMPLATE} owner farebox`)
  await admin.end()
  await migrate(postgres.url(TEMPLATE, 'farebox'))
  project.provide('socketFolder', postgres.socketFolder)
  return async () => {
    await postgres.stop()
    await rm(folder, { recursive: true, force: true })
  }
}
