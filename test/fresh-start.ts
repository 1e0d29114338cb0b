import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'vitest'

/** The folder of the project. */
export const project = fileURLToPath(new URL('..', import.meta.url))

/** What a stranger has after `npm start`: a running server, and a folder with `.data` and `farebox.yaml` to type commands in. */
export interface FreshStart {
  readonly folder: string
  readonly url: string
  readonly environment: Readonly<Record<string, string>>
  readonly server: ChildProcess
  /** What the start printed so far. */
  output(): string
  /** A text of a document, with this server's address in place of the documented one, and the program of this project. */
  here(text: string): string
  /** Runs lines of a document in a shell; gives what went to stdout and stderr, and throws when they fail. */
  shell(text: string): Promise<{ stdout: string; stderr: string }>
  stop(): Promise<void>
}

/** Starts it as `npm start` is spelled in package.json, and waits until it says how it is stopped. */
export async function freshStart(): Promise<FreshStart> {
  const folder = await mkdtemp(join(tmpdir(), 'farebox-readme-'))
  await copyFile(join(project, 'farebox.yaml'), join(folder, 'farebox.yaml'))
  const port = await freePort()
  const environment = {
    PATH: `${join(project, 'node_modules/.bin')}:${process.env.PATH}`,
    HOME: folder,
    PORT: String(port),
    FAREBOX_DATA: join(folder, '.data'),
  }
  const { scripts } = JSON.parse(await readFile(join(project, 'package.json'), 'utf8')) as {
    scripts: { start: string }
  }
  const [program = '', main = '', ...args] = scripts.start.split(' ')
  const server = spawn(program, [join(project, main), ...args], { cwd: folder, env: environment })
  let output = ''
  const serving = new Promise<void>((resolve) => {
    for (const stream of [server.stdout, server.stderr])
      stream?.on('data', (data) => {
        output += data
        if (output.includes('Ctrl-C stops it')) resolve()
      })
  })
  await Promise.race([serving, once(server, 'exit')])
  expect(server.exitCode, output).toBeNull()
  const here = (text: string): string =>
    text.replaceAll('127.0.0.1:8787', `127.0.0.1:${port}`).replaceAll('npx farebox', join(project, 'bin/farebox'))
  return {
    folder,
    url: `http://127.0.0.1:${port}`,
    environment,
    server,
    output: () => output,
    here,
    shell: (text) =>
      promisify(execFile)('bash', ['--norc', '-euo', 'pipefail', '-c', here(text)], { cwd: folder, env: environment }),
    async stop() {
      if (server.exitCode === null) {
        server.kill('SIGINT')
        await once(server, 'exit')
      }
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const address = probe.address()
  probe.close()
  return typeof address === 'object' && address !== null ? address.port : 0
}
