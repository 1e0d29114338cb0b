import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parseDocument, type YAMLSeq } from 'yaml'
import { openTerminal } from '../src/operator/terminal.fixture.ts'
import { openClientTerminal } from './client-terminal.ts'
import { differences, typedCommands } from './console-blocks.ts'
import { freshDatabase } from './database.ts'
import { type FreshStart, freshStart, project } from './fresh-start.ts'
import { startMockProvider } from './mock-provider.ts'
import { named, type Snippet, snippetsOf } from './snippets.ts'

const run = promisify(execFile)
let start: FreshStart
let readme: Snippet[]
let operatorPage: Snippet[]
let agentPage: Snippet[]

beforeAll(async () => {
  const page = (path: string) => snippetsOf(new URL(`../${path}`, import.meta.url))
  ;[start, readme, operatorPage, agentPage] = await Promise.all([
    freshStart(),
    page('README.md'),
    page('docs/first-five-minutes-operator.md'),
    page('docs/first-five-minutes-agent.md'),
  ])
  await symlink(join(project, 'node_modules'), join(start.folder, 'node_modules'))
})
afterAll(() => start?.stop())

/** The words of a line as a shell takes them, without the program's name. */
const wordsOf = (typed: string): string[] =>
  [...typed.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? '').slice(1)

/** Runs a command of the operator in this process, which is faster, but for the one that sends a signal to the server. */
async function typedByOperator(typed: string): Promise<string> {
  if (typed.includes('reload')) {
    const { stdout, stderr } = await start.shell(typed)
    return stdout + stderr
  }
  const { FAREBOX_DATA } = start.environment
  const terminal = openTerminal({ FAREBOX_DATA, FAREBOX_CONFIG: 'farebox.yaml', FAREBOX_KEY_PEPPER: '' })
  const home = process.cwd()
  process.chdir(start.folder)
  try {
    const { out, err } = await terminal.run(wordsOf(typed))
    return out + err
  } finally {
    process.chdir(home)
    terminal.close()
  }
}

/** Puts providers and models of a page into farebox.yaml, as an editor would. */
async function addToConfiguration(text: string): Promise<void> {
  const file = join(start.folder, 'farebox.yaml')
  const [configuration, added] = [parseDocument(await readFile(file, 'utf8')), parseDocument(text)]
  const { providers = {} } = added.toJS() as { providers?: Record<string, unknown> }
  for (const name of Object.keys(providers)) configuration.setIn(['providers', name], added.getIn(['providers', name]))
  ;(configuration.get('models') as YAMLSeq).add(added.getIn(['models', 0]))
  await writeFile(file, configuration.toString())
}

const stdoutOf = async (text: string): Promise<string> => (await start.shell(text)).stdout

describe('the README', () => {
  test('starts and tests with the scripts that package.json has', async () => {
    const { scripts } = JSON.parse(await readFile(join(project, 'package.json'), 'utf8')) as {
      scripts: Record<string, string>
    }
    const commands = readme
      .filter(({ language }) => language === 'sh')
      .flatMap(({ text }) => [...text.matchAll(/npm (?:run )?(start|test|[\w:]+)\b/g)].map(([, name]) => name))
    for (const name of commands) if (name !== 'ci') expect(scripts).toHaveProperty([name ?? ''])
  })

  test('shows what the start prints', () => {
    const [cast] = typedCommands(readme.find(({ text }) => text.startsWith('$ npm ci'))?.text ?? '')
    // ports, folders and the number of migrations are another machine's, or another day's
    const printed = (cast?.printed ?? []).map((line) => `${line.replaceAll(/\d{2,}|\.data|127\.0\.0\.1/g, '…')}…`)
    expect(differences({ typed: 'npm start', printed: [...printed, '…'] }, start.output())).toEqual([])
  })

  test('has a first call that is answered and says what it cost', async () => {
    const answer = JSON.parse(await stdoutOf(named(readme, 'first-call')))
    expect(answer.usage.cost_micro).toBeGreaterThan(0)
  })

  test('reads balance and statement with the same key', async () => {
    const both = await stdoutOf(`{ ${named(readme, 'first-call')}} > /dev/null\n${named(readme, 'first-balance')}`)
    const [balance, statement] = both.split(/(?<=\})(?=\{)/).map((text) => JSON.parse(text))
    expect(balance.balance_micro).toBeGreaterThan(0)
    expect(statement.data[0]).toMatchObject({ kind: 'capture' })
  })

  test('says that the call which the start prints can be pasted', async () => {
    const output = start.output()
    const pasted = output.slice(output.indexOf('curl -s'), output.indexOf('Ctrl-C')).trim()
    expect(JSON.parse(await stdoutOf(pasted)).choices[0].message.content).toContain('hello')
  })

  test('has a program that runs as it stands', async () => {
    const program = readme.find(({ language }) => language === 'ts')?.text ?? ''
    await writeFile(
      join(start.folder, 'first.ts'),
      `${start.here(program)}\nconsole.log(answer.choices[0]?.message.content)\n`,
    )
    const dev = JSON.parse(await readFile(join(start.folder, '.data/dev.json'), 'utf8')) as {
      agent: { api_key: string }
    }
    const { stdout } = await run(process.execPath, ['first.ts'], {
      cwd: start.folder,
      env: { ...start.environment, FAREBOX_KEY: dev.agent.api_key },
    })
    expect(stdout).toContain('hello')
  })
})

describe('the first five minutes', () => {
  test('of an operator print what the page says, in its order', async () => {
    const wrong: string[] = []
    for (const { name, text } of operatorPage) {
      if (name === 'own-model') await addToConfiguration(text)
      if (name === 'call-own-model')
        expect(JSON.parse(await stdoutOf(text))).toMatchObject({
          model: 'demo-mine',
          usage: { cost_micro: expect.any(Number) },
        })
      if (name !== 'operator') continue
      for (const command of typedCommands(start.here(text))) {
        const said = await typedByOperator(command.typed)
        wrong.push(...differences(command, said).map((line) => `${command.typed}: ${line}`))
      }
    }
    expect(wrong).toEqual([])
  })

  test('of an operator end with a provider of their own', async () => {
    const ollama = await startMockProvider()
    try {
      const address = ['http://127.0.0.1:11434', new URL(ollama.baseUrl).origin] as const
      await addToConfiguration(named(operatorPage, 'own-provider').replace(...address))
      expect(await stdoutOf('npx farebox prices reload')).toMatch(/ \+ provider ollama\n/)
      const call = named(operatorPage, 'call-own-model').replace('demo-mine', 'llama')
      expect(JSON.parse(await stdoutOf(call))).toMatchObject({ choices: [{ message: { content: 'pong' } }] })
    } finally {
      await ollama.close()
    }
  })

  test('of an Agent print what the page says, by the command line', async () => {
    await start.shell(named(agentPage, 'key'))
    const terminal = openClientTerminal(start.url)
    try {
      const [blocks, wrong] = [agentPage.filter(({ name }) => name === 'command-line'), [] as string[]]
      for (const command of blocks.flatMap(({ text }) => typedCommands(start.here(text)))) {
        const typed = wordsOf(command.typed).map((word) =>
          /\.(key|png)$/.test(word) ? join(start.folder, word) : word,
        )
        const { out, err, exitCode } = await terminal.run(typed, {
          terminal: true,
          environment: { HOME: start.folder },
        })
        const said = (out + err).replaceAll(`${start.folder}/`, '')
        wrong.push(...differences(command, said).map((line) => `${command.typed}: ${line}`))
        expect([command.typed, exitCode]).toEqual([command.typed, 0])
      }
      expect(wrong).toEqual([])
      expect(blocks.length).toBe(3)
    } finally {
      terminal.close()
    }
  })

  test('of an Agent go on by curl and by the SDK', async () => {
    await start.shell(named(agentPage, 'curl-key'))
    expect(JSON.parse(await stdoutOf(named(agentPage, 'curl-call'))).usage.cost_micro).toBeGreaterThan(0)
    expect(JSON.parse(await stdoutOf(named(agentPage, 'curl-balance')))).toMatchObject({ budget: { scope: 'key' } })
    // how the package is built is shown by its own README's test
    const program = start.here(named(agentPage, 'sdk')).replace('@farebox/sdk', join(project, 'sdk/src/index.ts'))
    await writeFile(join(start.folder, 'agent.mjs'), program)
    expect(await stdoutOf('node agent.mjs')).toMatch(/hello[\s\S]* \d+\navailable \d+\n$/)
  })
})

test('going live: with the settings of the page the doctor finds nothing wrong on a database of its own', async () => {
  const page = await snippetsOf(new URL('../docs/going-live.md', import.meta.url))
  const [settings = '', ...commands] = named(page, 'live').split(/^npx farebox /m)
  const [database, live] = [await freshDatabase(), join(start.folder, 'live')]
  await mkdir(live)
  const { FAREBOX_DATA: _, PORT: _port, ...environment } = start.environment
  const { stdout } = await run('bash', ['--norc', '-euc', `${settings}\nenv`], { cwd: live, env: environment })
  const exported = Object.fromEntries(
    [...stdout.matchAll(/^((?:FAREBOX|DATABASE|NODE_ENV)\w*)=(.*)$/gm)].map(([, name = '', value]) => [name, value]),
  )
  expect(Object.keys(exported).sort()).toEqual([
    'DATABASE_URL',
    'FAREBOX_KEY_PEPPER_FILE',
    'FAREBOX_PUBLIC_URL',
    'NODE_ENV',
  ])
  // an operator has removed the demo by now
  const file = (await readFile(join(project, 'farebox.yaml'), 'utf8')).replace('allow_demo: false', 'allow_demo: true')
  await writeFile(join(live, 'farebox.yaml'), file)
  const terminal = openTerminal({
    ...exported,
    DATABASE_URL: database.url,
    FAREBOX_KEY_PEPPER: '',
    FAREBOX_KEY_PEPPER_FILE: join(live, 'pepper'),
    FAREBOX_CONFIG: join(live, 'farebox.yaml'),
  })
  try {
    for (const command of commands) {
      const { exitCode, out, err } = await terminal.run(command.trim().split(' '))
      expect([command, exitCode, out + err]).toEqual([command, 0, expect.any(String)])
    }
    expect((await terminal.run(['doctor', '--json'])).json<{ checks: unknown[] }>().checks.length).toBeGreaterThan(10)
  } finally {
    terminal.close()
    await database.drop()
  }
})

describe('in the end', () => {
  test('the audit of the README finds nothing', async () => {
    expect(await stdoutOf('npx farebox audit')).toMatch(/The ledger is in order/)
  })

  test('Ctrl-C ends the server and its database, and leaves no process behind', async () => {
    start.server.kill('SIGINT')
    const [code] = await once(start.server, 'exit')
    expect(code).toBe(0)
    const { stdout } = await run('ps', ['-eo', 'args'])
    expect(stdout.split('\n').filter((line) => line.includes(start.folder))).toEqual([])
  })
})
