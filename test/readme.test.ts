import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { named, type Snippet, snippetsOf } from './snippets.ts'

const project = fileURLToPath(new URL('..', import.meta.url))
const run = promisify(execFile)
let folder: string
let port: number
let server: ChildProcess
let output = ''
let readme: Snippet[]
let environment: Record<string, string>

beforeAll(async () => {
  readme = await snippetsOf(new URL('../README.md', import.meta.url))
  folder = await mkdtemp(join(tmpdir(), 'farebox-readme-'))
  port = await freePort()
  environment = {
    PATH: `${join(project, 'node_modules/.bin')}:${process.env.PATH}`,
    HOME: folder,
    PORT: String(port),
    FAREBOX_DATA: join(folder, '.data'),
  }
  // the README's own command, as package.json spells it
  const { scripts } = JSON.parse(await readFile(join(project, 'package.json'), 'utf8')) as {
    scripts: { start: string }
  }
  const [program = '', ...args] = scripts.start.split(' ')
  server = spawn(program, args, { cwd: project, env: environment })
  const serving = new Promise<void>((resolve) => {
    for (const stream of [server.stdout, server.stderr]) {
      stream?.on('data', (data) => {
        output += data
        if (output.includes('Ctrl-C stops it')) resolve()
      })
    }
  })
  await Promise.race([serving, once(server, 'exit')])
  expect(server.exitCode, output).toBeNull()
})

afterAll(async () => {
  if (server.exitCode === null) {
    server.kill('SIGINT')
    await once(server, 'exit')
  }
  await rm(folder, { recursive: true, force: true })
})

const freePort = async (): Promise<number> => {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const address = probe.address()
  probe.close()
  return typeof address === 'object' && address !== null ? address.port : 0
}

/** Runs lines of the README in a shell, on this test's port. */
async function shell(text: string): Promise<string> {
  const { stdout } = await run(
    'bash',
    ['-euo', 'pipefail', '-c', text.replaceAll('127.0.0.1:8787', `127.0.0.1:${port}`)],
    { cwd: folder, env: environment },
  )
  return stdout
}

test('the README starts and tests with the scripts that package.json has', async () => {
  const { scripts } = JSON.parse(await readFile(join(project, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>
  }
  const commands = readme
    .filter(({ language }) => language === 'sh')
    .flatMap(({ text }) => [...text.matchAll(/npm (?:run )?(start|test|[\w:]+)\b/g)].map(([, name]) => name))
  for (const name of commands) if (name !== 'ci') expect(scripts).toHaveProperty([name ?? ''])
})

test('the first call of the README is answered and says what it cost', async () => {
  const answer = JSON.parse(await shell(named(readme, 'first-call')))
  expect(answer.usage.cost_micro).toBeGreaterThan(0)
})

test('the balance and the statement of the README are read with the same key', async () => {
  const both = await shell(`{ ${named(readme, 'first-call')}} > /dev/null\n${named(readme, 'first-balance')}`)
  const [balance, statement] = both.split(/(?<=\})(?=\{)/).map((text) => JSON.parse(text))
  expect(balance.balance_micro).toBeGreaterThan(0)
  expect(statement.data[0]).toMatchObject({ kind: 'capture' })
})

test('the call that the start prints can be pasted', async () => {
  const pasted = output.slice(output.indexOf('curl -s'), output.indexOf('Ctrl-C')).trim()
  expect(JSON.parse(await shell(pasted)).choices[0].message.content).toContain('hello')
})

test('the program of the README runs as it stands', async () => {
  const program = readme.find(({ language }) => language === 'ts')?.text ?? ''
  await writeFile(
    join(folder, 'first.ts'),
    `${program.replaceAll('127.0.0.1:8787', `127.0.0.1:${port}`)}\nconsole.log(answer.choices[0]?.message.content)\n`,
  )
  await symlink(join(project, 'node_modules'), join(folder, 'node_modules'))
  const dev = JSON.parse(await readFile(join(folder, '.data/dev.json'), 'utf8')) as { agent: { api_key: string } }
  const { stdout } = await run(process.execPath, ['first.ts'], {
    cwd: folder,
    env: { ...environment, FAREBOX_KEY: dev.agent.api_key },
  })
  expect(stdout).toContain('hello')
})

test('the audit of the README finds nothing', async () => {
  expect(await shell(`${join(project, 'bin/farebox')} audit`)).toMatch(/The ledger is in order/)
})

test('Ctrl-C ends the server and its database, and leaves no process behind', async () => {
  server.kill('SIGINT')
  const [code] = await once(server, 'exit')
  expect(code).toBe(0)
  const { stdout } = await run('ps', ['-eo', 'args'])
  expect(stdout.split('\n').filter((line) => line.includes(folder))).toEqual([])
})
