import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import {
  chmod,
  chown,
  lstat,
  mkdir,
  mkdtemp,
  readFile,
  readlink,
  realpath,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { restoreLinks } from './binaries.ts'
import { type RunningPostgres, startPostgres } from './postgres.ts'
import { databaseProcesses } from './processes.ts'

const isRoot = process.getuid?.() === 0
const NOBODY = 65534
const started: RunningPostgres[] = []
const children: ChildProcess[] = []
let top = ''

beforeAll(async () => {
  top = await realpath(await mkdtemp('/tmp/farebox-embedded-'))
  await chmod(top, 0o755)
})

afterAll(async () => {
  for (const child of children) child.kill('SIGKILL')
  for (const postgres of started) await postgres.stop()
  await rm(top, { recursive: true, force: true })
})

async function start(
  dataFolder: string,
  environment: Record<string, string | undefined> = process.env,
) {
  const lines: string[] = []
  const postgres = await startPostgres({ dataFolder, log: (line) => lines.push(line), environment })
  started.push(postgres)
  return { postgres, lines }
}

async function query(postgres: RunningPostgres, text: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: postgres.url('postgres', postgres.superuser) })
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

/** A PATH on which the named programs exist and always fail. */
async function withoutPrograms(...names: string[]): Promise<Record<string, string | undefined>> {
  const folder = await mkdtemp(join(top, 'stubs-'))
  await chmod(folder, 0o755)
  for (const name of names)
    await writeFile(join(folder, name), '#!/bin/sh\nexit 1\n', { mode: 0o755 })
  return { ...process.env, PATH: `${folder}:${process.env.PATH}` }
}

/** Every process whose command line or working directory names the folder. */
async function mentions(folder: string): Promise<string[]> {
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
        return command.includes(folder) || directory.startsWith(folder)
          ? `${pid} ${command} ${directory}`
          : ''
      }),
  )
  return found.filter((line) => line !== '')
}

const modules = {
  postgres: new URL('./postgres.ts', import.meta.url).href,
  pg: import.meta.resolve('pg'),
}

/** Another server process: it starts the database, then commits rows for ever and prints each acknowledged one. */
function owner(
  dataFolder: string,
  environment: Record<string, string | undefined>,
  prefix: string[] = [],
): ChildProcess {
  const script = `
    import { startPostgres } from ${JSON.stringify(modules.postgres)}
    import pg from ${JSON.stringify(modules.pg)}
    const postgres = await startPostgres({ dataFolder: process.argv[1], log() {}, environment: process.env })
    const client = new pg.Client(postgres.url('postgres', 'postgres'))
    await client.connect()
    await client.query('create table if not exists paid (id bigint primary key)')
    console.log('ready ' + postgres.pid)
    for (let id = 1; ; id += 1) {
      await client.query('insert into paid values ($1)', [id])
      console.log(id)
    }`
  const [program = '', ...rest] = [
    ...prefix,
    process.execPath,
    '--input-type=module',
    '-e',
    script,
    dataFolder,
  ]
  const child = spawn(program, rest, {
    env: environment as NodeJS.ProcessEnv,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.push(child)
  return child
}

/** Reads what an owner acknowledged, kills it with -9 after `count` rows, and returns the last row it had. */
async function killedAfter(
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

describe('startPostgres', () => {
  test('makes a database, answers, stops without leaving a process, and has its data at the second start', async () => {
    const folder = join(top, 'plain')
    const first = await start(folder)
    expect(first.lines.join('\n')).toContain('made a new database')
    await query(first.postgres, 'create table kept as select 42 as answer')
    const settings = await query(
      first.postgres,
      "select name, setting from pg_settings where name in ('fsync', 'full_page_writes', 'synchronous_commit', 'listen_addresses', 'jit') order by name",
    )
    expect(settings.map((row) => row.setting)).toEqual(['on', 'on', 'off', '', 'on'])
    expect(
      await query(
        first.postgres,
        "select upper('é') as e, datlocprovider as provider from pg_database where datname = 'postgres'",
      ),
    ).toEqual([{ e: 'É', provider: 'b' }])
    await first.postgres.stop()
    expect(await first.postgres.exited).toEqual({ code: 0, signal: null })
    expect(await mentions(folder)).toEqual([])

    const began = performance.now()
    const second = await start(folder)
    expect(performance.now() - began).toBeLessThan(5_000)
    expect(await query(second.postgres, 'select answer from kept')).toEqual([{ answer: 42 }])
    await second.postgres.stop()
    expect(await mentions(folder)).toEqual([])
  })

  test('gives a URL that leads to the socket, also when the path has a space and a comma', async () => {
    const { postgres } = await start(join(top, 'with a space, and comma'))
    const url = new URL(postgres.url('postgres', 'postgres'))
    expect(url.searchParams.get('host')).toBe(postgres.socketFolder)
    expect(url.username).toBe('postgres')
    expect(await query(postgres, 'select 1 as one')).toEqual([{ one: 1 }])
    await postgres.stop()
  })

  test('passes settings on, and none of our environment', async () => {
    const folder = join(top, 'settings')
    const postgres = await startPostgres({
      dataFolder: folder,
      log: () => {},
      settings: { max_connections: '7' },
      environment: { ...process.env, PGOPTIONS: '-c jit=on', SECRET_OF_OURS: 'x' },
    })
    started.push(postgres)
    expect(await query(postgres, 'show max_connections')).toEqual([{ max_connections: '7' }])
    if (process.platform === 'linux')
      expect(await readFile(`/proc/${postgres.pid}/environ`, 'utf8')).not.toContain(
        'SECRET_OF_OURS',
      )
    expect((await stat(folder)).mode & 0o777).toBe(0o700)
    // It leads a process group of its own: a Ctrl-C for ours does not reach it.
    expect(process.kill(-postgres.pid, 0)).toBe(true)
    await postgres.stop()
  })

  test('works when the path is too long for a Unix socket', async () => {
    const folder = join(top, 'long'.repeat(30), 'data')
    const { postgres } = await start(folder)
    expect(postgres.socketFolder.startsWith(folder)).toBe(false)
    expect((await stat(postgres.socketFolder)).mode & 0o777).toBe(0o700)
    expect(await query(postgres, 'select 1 as one')).toEqual([{ one: 1 }])
    await postgres.stop()
    await rm(postgres.socketFolder, { recursive: true })
  })

  test('runs for an ordinary user', async () => {
    const folder = join(top, 'ordinary')
    await mkdir(folder)
    if (isRoot) await chown(folder, NOBODY, NOBODY)
    const prefix = isRoot
      ? ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups']
      : []
    const child = owner(folder, { ...process.env, HOME: folder }, prefix)
    expect(await killedAfter(child, 5, () => child.kill('SIGKILL'))).toBeGreaterThanOrEqual(5)
    expect((await stat(join(folder, 'cluster'))).uid).toBe(isRoot ? NOBODY : process.getuid?.())
    // Root may start it once in between; it stays the user's.
    const { postgres } = await start(folder)
    expect(
      (await query(postgres, 'select count(*)::int as rows from paid'))[0]?.rows,
    ).toBeGreaterThanOrEqual(5)
    await postgres.stop()
    expect((await stat(join(folder, 'postgres.log'))).uid).toBe(
      isRoot ? NOBODY : process.getuid?.(),
    )
  })

  test('runs for root without user namespaces, as a user that owns the folder', async () => {
    const folder = join(top, 'no-namespace')
    const { postgres, lines } = await start(folder, await withoutPrograms('unshare'))
    expect(await query(postgres, 'select 1 as one')).toEqual([{ one: 1 }])
    expect(lines.at(-1)).toContain(isRoot ? 'as user ' : 'as this user')
    expect((await stat(folder)).uid === 0).toBe(false)
    await postgres.stop()
  })

  test('asks for DATABASE_URL when root has no way to run it', async () => {
    const closed = join(top, 'closed')
    await mkdir(closed, { mode: 0o700 })
    const attempt = start(join(closed, 'data'), await withoutPrograms('unshare'))
    // For an ordinary user a closed parent of its own is no obstacle.
    if (isRoot) await expect(attempt).rejects.toThrow('DATABASE_URL')
    else await (await attempt).postgres.stop()
  })
})

describe('after kill -9 of the server', () => {
  test.each([
    ['the death signal stops the database', [], false],
    ['without a death signal the next start stops the database', ['setpriv'], false],
    ['the database was killed as well', [], true],
  ] as const)('%s, and no acknowledged commit is lost', async (title, missing, killAll) => {
    const folder = join(top, title.replaceAll(' ', '-').slice(0, 20))
    const child = owner(folder, await withoutPrograms(...missing))
    let orphan = 0
    const acknowledged = await killedAfter(child, 200, (databasePid) => {
      orphan = databasePid
      child.kill('SIGKILL')
      if (killAll) process.kill(databasePid, 'SIGKILL')
    })
    if (process.platform === 'linux' && missing.length === 0) {
      while ((await databaseProcesses(join(folder, 'cluster'))).length > 0) await pause(5)
    }
    const { postgres, lines } = await start(folder)
    if (missing.length > 0) expect(lines.join('\n')).toContain('a former run left behind')
    expect((await databaseProcesses(join(folder, 'cluster'))).map(({ pid }) => pid)).not.toContain(
      orphan,
    )
    const [row] = await query(
      postgres,
      `select count(*)::int as rows from paid where id <= ${acknowledged}`,
    )
    expect(acknowledged).toBeGreaterThanOrEqual(200)
    expect(row?.rows).toBe(acknowledged)
    await postgres.stop()
    expect(await mentions(folder)).toEqual([])
  })

  test('in the middle of initdb the next start heals the folder', async () => {
    const folder = join(top, 'half')
    const child = owner(folder, await withoutPrograms('setpriv'))
    const closed = once(child, 'close')
    while (!existsSync(join(folder, 'cluster.partial', 'PG_VERSION'))) await pause(1)
    child.kill('SIGKILL')
    await closed
    expect(existsSync(join(folder, 'cluster'))).toBe(false)
    const { postgres } = await start(folder)
    expect(await query(postgres, 'select 1 as one')).toEqual([{ one: 1 }])
    await postgres.stop()
    expect(existsSync(join(folder, 'cluster.partial'))).toBe(false)
  })
})

describe('refuses and repairs', () => {
  test('a second server on the same folder is refused and the first one keeps working', async () => {
    const folder = join(top, 'shared')
    const { postgres } = await start(folder)
    await expect(start(folder)).rejects.toThrow(`in use by process ${process.pid}`)
    const other = spawn(
      process.execPath,
      [
        '--input-type=module',
        '-e',
        `import { startPostgres } from ${JSON.stringify(modules.postgres)}; await startPostgres({ dataFolder: process.argv[1], log() {}, environment: process.env }).catch((error) => console.log(error.message))`,
        folder,
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    )
    const [said] = await once(other.stdout, 'data')
    expect(String(said)).toContain(`in use by process ${process.pid}`)
    expect(await query(postgres, 'select 1 as one')).toEqual([{ one: 1 }])
    await postgres.stop()
  })

  test('what a dead server left is no obstacle, even when strangers have its pids; another server on the socket is', async () => {
    const folder = join(top, 'stale')
    await (await start(folder)).postgres.stop()
    const stranger = process.pid
    await writeFile(join(folder, 'owner.pid'), `${stranger}\nanother start time\n1\n`)
    await writeFile(
      join(folder, 'cluster', 'postmaster.pid'),
      `${stranger}\n${folder}/cluster\n1\n5432\n${folder}\n\n1 1\nready   \n`,
    )
    await writeFile(join(folder, '.s.PGSQL.5432.lock'), `${stranger}\n`)
    await (await start(folder)).postgres.stop()

    const listener = createServer().listen(join(folder, '.s.PGSQL.5432'))
    await once(listener, 'listening')
    await expect(start(folder)).rejects.toThrow('Another PostgreSQL')
    listener.close()
  })

  test('a database of another major version is refused in a sentence, and the claim on the folder is given back', async () => {
    const folder = join(top, 'version')
    await mkdir(join(folder, 'cluster'), { recursive: true })
    await writeFile(join(folder, 'cluster', 'PG_VERSION'), '15\n')
    await expect(start(folder)).rejects.toThrow(
      'made by PostgreSQL 15; this server brings PostgreSQL 18',
    )
    expect(existsSync(join(folder, 'owner.pid'))).toBe(false)
  })

  test('a failed start says what PostgreSQL logged', async () => {
    const folder = join(top, 'failing')
    const attempt = startPostgres({
      dataFolder: folder,
      log: () => {},
      settings: { shared_buffers: 'much' },
      environment: process.env,
    })
    await expect(attempt).rejects.toThrow('invalid value for parameter "shared_buffers"')
    expect(await mentions(folder)).toEqual([])
  })

  test('links between libraries that npm did not make are made', async () => {
    const root = join(top, 'package')
    await mkdir(join(root, 'native', 'lib'), { recursive: true })
    await writeFile(join(root, 'native', 'lib', 'libpq.so.5.18'), 'library')
    await writeFile(
      join(root, 'native', 'pg-symlinks.json'),
      JSON.stringify([{ source: 'native/lib/libpq.so.5.18', target: 'native/lib/libpq.so.5' }]),
    )
    await restoreLinks(root)
    await restoreLinks(root)
    expect((await lstat(join(root, 'native', 'lib', 'libpq.so.5'))).isSymbolicLink()).toBe(true)
    expect(await readFile(join(root, 'native', 'lib', 'libpq.so.5'), 'utf8')).toBe('library')
  })
})
