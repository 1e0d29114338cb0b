import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, readdirSync, renameSync } from 'node:fs'
import { chmod, mkdtemp, readFile, readlink, realpath, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { Client } from 'pg'
import { afterAll, beforeAll, vi } from 'vitest'
import { type RunningPostgres, startPostgres } from './postgres.ts'

/** Everything here is ended by the test file's own end. */
export const started: RunningPostgres[] = []
/** Child processes to end with the file. */
export const children: ChildProcess[] = []

/** The folder of this test file, without links. Set before its tests run. */
export let top = ''

/** Called at the head of a test file: gives it `top` before its tests, and ends all that it started after them. */
export function embeddedTests(): void {
  // Making a database takes a second; a busy machine may take several.
  vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

  beforeAll(async () => {
    top = await realpath(await mkdtemp('/tmp/farebox-embedded-'))
    await chmod(top, 0o755)
  })

  afterAll(async () => {
    for (const child of children.splice(0)) child.kill('SIGKILL')
    for (const postgres of started.splice(0)) await postgres.stop()
    await rm(top, { recursive: true, force: true })
  })
}

/** Starts a database that the test file stops at its end at the latest. */
export async function start(dataFolder: string, environment: Record<string, string | undefined> = process.env) {
  const lines: string[] = []
  const postgres = await startPostgres({ dataFolder, log: (line) => lines.push(line), environment })
  started.push(postgres)
  return { postgres, lines }
}

/** Runs one statement as the superuser on a connection of its own. */
export async function query(postgres: RunningPostgres, text: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: postgres.url('postgres', postgres.superuser) })
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

/** A PATH on which the named programs exist and always fail. */
export async function withoutPrograms(...names: string[]): Promise<Record<string, string | undefined>> {
  const folder = await mkdtemp(join(top, 'stubs-'))
  await chmod(folder, 0o755)
  for (const name of names) await writeFile(join(folder, name), '#!/bin/sh\nexit 1\n', { mode: 0o755 })
  return { ...process.env, PATH: `${folder}:${process.env.PATH}` }
}

/** Every process whose command line or working directory names the folder. */
export async function mentions(folder: string): Promise<string[]> {
  if (process.platform !== 'linux')
    return execFileSync('ps', ['-axww', '-o', 'command='])
      .toString()
      .split('\n')
      .filter((line) => line.includes(folder))
  const found = await Promise.all(
    readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(async (pid) => {
        const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
        const directory = await readlink(`/proc/${pid}/cwd`).catch(() => '')
        return command.includes(folder) || directory.startsWith(folder) ? `${pid} ${command} ${directory}` : ''
      }),
  )
  return found.filter((line) => line !== '')
}

const project = fileURLToPath(new URL('../../', import.meta.url)).replace(/\/$/, '')

/**
 * The project's folder for a process of another user: a copy by hard links where that user cannot reach the project
 * itself, such as a clone in somebody's private folder.
 */
export function reachableBy(prefix: readonly string[]): string {
  const [program = 'true', ...rest] = [...prefix, 'test', '-r', join(project, 'package.json')]
  try {
    execFileSync(program, rest, { stdio: 'ignore' })
    return project
  } catch {
    const copy = join(top, 'project')
    if (!existsSync(copy)) {
      const partial = join(top, 'project.partial')
      execFileSync('cp', ['-al', project, partial])
      chmodSync(partial, 0o755)
      renameSync(partial, copy)
    }
    return copy
  }
}

/** What a script run by another process imports. */
export const modules = {
  postgres: new URL('./postgres.ts', import.meta.url).href,
  pg: import.meta.resolve('pg'),
}

/** Starts the database of an `owner` as this user, in a process of its own, and counts the rows that are in it. */
export function paidRows(dataFolder: string, root: string): number {
  const at = (path: string): string => path.replace(project, root)
  const script = `
    import { startPostgres } from ${JSON.stringify(at(modules.postgres))}
    import pg from ${JSON.stringify(at(modules.pg))}
    const postgres = await startPostgres({ dataFolder: process.argv[1], log() {}, environment: process.env })
    const client = new pg.Client(postgres.url('postgres', 'postgres'))
    await client.connect()
    const { rows } = await client.query('select count(*)::int as rows from paid')
    await client.end()
    await postgres.stop()
    console.log(rows[0].rows)`
  const args = ['--input-type=module', '-e', script, dataFolder]
  return Number(execFileSync(at(process.execPath), args, { cwd: root, encoding: 'utf8' }))
}

/** Another server process: it starts the database, then commits rows for ever and prints each acknowledged one. */
export function owner(
  dataFolder: string,
  environment: Record<string, string | undefined>,
  prefix: string[] = [],
  root = project,
): ChildProcess {
  const at = (path: string): string => path.replace(project, root)
  const script = `
    import { startPostgres } from ${JSON.stringify(at(modules.postgres))}
    import pg from ${JSON.stringify(at(modules.pg))}
    const postgres = await startPostgres({ dataFolder: process.argv[1], log() {}, environment: process.env })
    const client = new pg.Client(postgres.url('postgres', 'postgres'))
    await client.connect()
    await client.query('create table if not exists paid (id bigint primary key)')
    console.log('ready ' + postgres.pid)
    for (let id = 1; ; id += 1) {
      await client.query('insert into paid values ($1)', [id])
      console.log(id)
    }`
  const [program = '', ...rest] = [...prefix, at(process.execPath), '--input-type=module', '-e', script, dataFolder]
  const child = spawn(program, rest, {
    cwd: root,
    env: environment as NodeJS.ProcessEnv,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.push(child)
  return child
}

/** Reads what an owner acknowledged, kills it with -9 after `count` rows, and returns the last row it had. */
export async function killedAfter(
  child: ChildProcess,
  count: number,
  kill: (databasePid: number) => void,
): Promise<number> {
  if (!child.stdout) throw new Error('no output to read')
  let acknowledged = 0
  let databasePid = 0
  const closed = once(child, 'close')
  for await (const line of createInterface({ input: child.stdout })) {
    if (line.startsWith('ready ')) databasePid = Number(line.slice(6))
    else acknowledged = Number(line)
    if (acknowledged === count) kill(databasePid)
  }
  await closed
  return acknowledged
}
