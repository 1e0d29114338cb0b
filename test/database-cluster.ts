import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import type { TestProject } from 'vitest/node'
import { migrate } from '../src/db/migrate.ts'
import { startPostgres } from '../src/embedded/postgres.ts'
import { quickFolder } from './quick-folder.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** Folder of the cluster's socket. */
    socketFolder: string
  }
}

/** The migrated database that each test file copies. */
export const TEMPLATE = 'farebox_template'

/** One real PostgreSQL for the whole run, on its own data folder; gone with it. Or the one that `FAREBOX_TEST_CLUSTER` names. */
// biome-ignore lint/style/noDefaultExport: the runner calls the default export
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const running = process.env.FAREBOX_TEST_CLUSTER
  if (running) {
    project.provide('socketFolder', running)
    return async () => undefined
  }
  const cluster = await startCluster()
  project.provide('socketFolder', cluster.socketFolder)
  return cluster.stop
}

/** Starts a PostgreSQL with the migrated template in it. `templateUrl` connects to that as the owner of its schema. */
export async function startCluster(): Promise<{
  readonly socketFolder: string
  readonly templateUrl: string
  stop(): Promise<void>
}> {
  const folder = await mkdtemp(join(await quickFolder(), 'farebox-test-'))
  const postgres = await startPostgres({
    dataFolder: folder,
    log: () => undefined,
    environment: process.env,
    // little log is kept: it may lie in memory
    settings: { max_connections: '200', max_wal_size: '256MB' },
  })
  const admin = new pg.Client({ connectionString: postgres.url('postgres', 'postgres') })
  await admin.connect()
  await admin.query(`create role farebox login createrole`)
  await admin.query(`create database ${TEMPLATE} owner farebox`)
  await admin.end()
  const templateUrl = postgres.url(TEMPLATE, 'farebox')
  await migrate(templateUrl)
  return {
    socketFolder: postgres.socketFolder,
    templateUrl,
    async stop() {
      await postgres.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
