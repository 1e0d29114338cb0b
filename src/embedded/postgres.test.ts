import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chown, mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  children,
  embeddedTests,
  killedAfter,
  mentions,
  modules,
  owner,
  paidRows,
  query,
  reachableBy,
  start,
  started,
  top,
  withoutPrograms,
} from './harness.ts'
import { startPostgres } from './postgres.ts'

embeddedTests()

const isRoot = process.getuid?.() === 0
const NOBODY = 65534

function spawned(program: string, args: string[]) {
  const child = spawn(program, args, { stdio: 'ignore' })
  children.push(child)
  return child
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

    const second = await start(folder)
    expect(await query(second.postgres, 'select answer from kept')).toEqual([{ answer: 42 }])
    await second.postgres.stop()
    expect(await mentions(folder)).toEqual([])
  })

  test('gives a URL that leads to the socket, also when the path has a space', async () => {
    const { postgres } = await start(join(top, 'with a space'))
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
      expect(await readFile(`/proc/${postgres.pid}/environ`, 'utf8')).not.toContain('SECRET_OF_OURS')
    expect((await stat(folder)).mode & 0o777).toBe(0o700)
    // It leads a process group of its own: a Ctrl-C for ours does not reach it.
    expect(process.kill(-postgres.pid, 0)).toBe(true)
    await postgres.stop()
  })

  test.each([
    ['too long for a Unix socket', 'long'.repeat(30)],
    ['one that libpq takes for a list', 'comma,comma'],
  ])('keeps the socket in a private folder when the path is %s, and removes it', async (_, name) => {
    const folder = join(top, name)
    const { postgres } = await start(folder)
    expect(postgres.socketFolder.startsWith(folder)).toBe(false)
    expect((await stat(postgres.socketFolder)).mode & 0o777).toBe(0o700)
    expect(await query(postgres, 'select 1 as one')).toEqual([{ one: 1 }])
    await postgres.stop()
    expect(existsSync(postgres.socketFolder)).toBe(false)
  })

  test('runs for an ordinary user', async () => {
    const folder = join(top, 'ordinary')
    await mkdir(folder)
    if (isRoot) await chown(folder, NOBODY, NOBODY)
    const prefix = isRoot ? ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'] : []
    const root = reachableBy(prefix)
    const child = owner(folder, { ...process.env, HOME: folder }, prefix, root)
    expect(await killedAfter(child, 5, () => child.kill('SIGKILL'))).toBeGreaterThanOrEqual(5)
    expect((await stat(join(folder, 'cluster'))).uid).toBe(isRoot ? NOBODY : process.getuid?.())
    // Root may start it once in between; it stays the user's.
    expect(paidRows(folder, root)).toBeGreaterThanOrEqual(5)
    expect((await stat(join(folder, 'postgres.log'))).uid).toBe(isRoot ? NOBODY : process.getuid?.())
  })

  test('runs for root without user namespaces, as a user that owns the folder', async () => {
    const folder = join(top, 'no-namespace')
    const asNobody = isRoot ? ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'] : []
    const child = owner(folder, await withoutPrograms('unshare'), [], reachableBy(asNobody))
    expect(await killedAfter(child, 5, () => child.kill('SIGKILL'))).toBeGreaterThanOrEqual(5)
    expect((await stat(join(folder, 'cluster'))).uid).toBe(isRoot ? NOBODY : process.getuid?.())
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
    // Not our own pid: PostgreSQL forgives a file that names its parent.
    const { pid: stranger } = spawned(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
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
    await expect(start(folder)).rejects.toThrow('made by PostgreSQL 15; this server brings PostgreSQL 18')
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
})
