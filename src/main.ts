import { closeSync, openSync, readFileSync } from 'node:fs'
import { enableCompileCache } from 'node:module'
import { hostname, userInfo } from 'node:os'
import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { text as textOf } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { ProgramSurroundings } from './app/surroundings.ts'
import { clientCommands, isClientCommand } from './client-program/commands.ts'
import { readTextFile } from './config/read-file.ts'
import { systemClock } from './kernel/clock.ts'
import { systemRandom } from './kernel/random.ts'
import { type AddCommands, runProgram } from './operator/program.ts'

/** The only file that reads the process's environment and arguments, and handles its signals. */

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }

/** True while a process with this id runs on this host, ours to signal or not. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as { code?: unknown }).code === 'EPERM'
  }
}

/** Calls back at the first SIGTERM or SIGINT; a second one ends the process at once. */
function onStop(stop: (signal: string) => void): void {
  let stopping = false
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (stopping) process.exit(130)
      stopping = true
      stop(signal)
    })
  }
}

/**
 * Calls back at each SIGHUP. A terminal that was closed sends one too: then there is nobody left to serve in the
 * foreground for, and the process ends as by SIGTERM.
 */
function onReload(reload: () => void): void {
  const hadTerminal = terminalIsThere()
  process.on('SIGHUP', () => {
    if (hadTerminal && !terminalIsThere()) process.emit('SIGTERM')
    else reload()
  })
}

function terminalIsThere(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'))
    return true
  } catch {
    return false
  }
}

/** The first line of standard input. */
async function readLine(): Promise<string> {
  for await (const line of createInterface({ input: process.stdin })) return line
  return ''
}

/** The same; on a terminal nothing of it is seen. */
async function readSecret(): Promise<string> {
  if (!process.stdin.isTTY) return readLine()
  const unseen = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input: process.stdin, output: unseen, terminal: true })
  lines.on('SIGINT', () => process.exit(130))
  try {
    for await (const line of lines) return line
    return ''
  } finally {
    lines.close()
  }
}

// whoever read our output has left: that is no reason to stop serving
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)

/** The operator's commands, with all of the server behind them: read only when one of them may be meant. */
async function operatorSide(): Promise<AddCommands[]> {
  const [{ servingCommands }, { operatorCommands }] = await Promise.all([
    import('./operator/serving.ts'),
    import('./operator/commands.ts'),
  ])
  const developmentCommands: AddCommands = (program, around) => {
    program.commandsGroup('For the operator, on the database:')
    program
      .command('dev')
      .description('start the development economy: PostgreSQL, an owner, an Agent and the server')
      // with an identity provider and a chain of its own: no server for production has them in its memory
      .action(async () => (await import('./development/start.ts')).startDevelopment(around))
  }
  return [developmentCommands, servingCommands, ...operatorCommands({ readLine, interactive: process.stdin.isTTY })]
}

const surroundings: ProgramSurroundings = {
  environment: process.env,
  readFile: readTextFile,
  clock: systemClock,
  random: systemRandom,
  version,
  host: hostname(),
  pid: process.pid,
  userName: userInfo().username,
  isRunning,
  onStop,
  onReload,
  askToReload: (pid) => void process.kill(pid, 'SIGHUP'),
  write: (text) => void process.stdout.write(text),
  written: () => new Promise((resolve) => process.stdout.write('', () => resolve())),
  writeError: (text) => void process.stderr.write(text),
}

const typed = process.argv.slice(2)
// What was compiled for the last command is not compiled again: it is there in two thirds of the time. In our own folder,
// since what lies there is run; where that cannot be written to, nothing is kept. A server would pay for it with memory.
if (typed[0] !== 'serve' && typed[0] !== 'dev')
  enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/compile', import.meta.url)))
process.exitCode = await runProgram(typed, surroundings, [
  ...(isClientCommand(typed[0]) ? [] : await operatorSide()),
  clientCommands({
    stdinIsTerminal: process.stdin.isTTY === true,
    stdoutIsTerminal: process.stdout.isTTY === true,
    readLine,
    readSecret,
    readAll: () => textOf(process.stdin),
    sleep: (ms, signal) =>
      sleep(ms, undefined, signal ? { signal } : {}).catch((error: unknown) => Promise.reject(signal?.reason ?? error)),
  }),
])
// every socket and timer is closed by now; what a library keeps open must not hold the process
process.exit()
