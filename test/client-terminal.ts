import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { clientCommands } from '../src/client-program/commands.ts'
import type { RawEnvironment } from '../src/config/environment.ts'
import { readTextFile } from '../src/config/read-file.ts'
import { systemClock } from '../src/kernel/clock.ts'
import { systemRandom } from '../src/kernel/random.ts'
import { runProgram } from '../src/operator/program.ts'
import { withoutSigns } from '../src/operator/terminal.fixture.ts'

/** What a run of the program did. */
export interface ClientRun {
  readonly exitCode: number
  readonly out: string
  readonly err: string
}

/** How a command is run: what is typed, and whether a person is there. */
export interface ClientRunOptions {
  /** True at a terminal; a pipe otherwise. */
  readonly terminal?: boolean
  /** True when a person can be asked; else as `terminal`. */
  readonly person?: boolean
  readonly input?: string
  readonly environment?: RawEnvironment
  /** Sees what is written while the command runs, as a person does. */
  readonly watch?: (text: string) => void
  /** True: waits are cut short, where it is a person who is waited for. */
  readonly hurried?: boolean
}

/** The program's commands for users with captured output, in an empty home of its own. */
export function openClientTerminal(server: string): {
  run(args: readonly string[], options?: ClientRunOptions): Promise<ClientRun>
  /** All that any run wrote. */
  said(): string
  readonly home: string
  close(): void
} {
  const home = mkdtempSync(join(tmpdir(), 'farebox-client-'))
  let said = ''
  return {
    home,
    said: () => said,
    close: () => rmSync(home, { recursive: true, force: true }),
    async run(args, { terminal = false, person = terminal, input = '', environment = {}, watch, hurried } = {}) {
      let out = ''
      let err = ''
      const around = {
        environment: { HOME: home, FAREBOX_BASE_URL: server, ...environment },
        readFile: readTextFile,
        clock: systemClock,
        random: systemRandom,
        version: '0.0.0',
        host: 'test',
        pid: 1,
        userName: 'ada',
        isRunning: () => true,
        onStop: () => undefined,
        onReload: () => undefined,
        askToReload: () => undefined,
        written: async () => undefined,
        write(text: string) {
          out += text
          watch?.(text)
        },
        writeError(text: string) {
          err += text
          watch?.(text)
        },
      }
      const commands = clientCommands({
        stdinIsTerminal: person,
        stdoutIsTerminal: terminal,
        readLine: async () => input,
        readSecret: async () => input,
        readAll: async () => input,
        sleep: (ms, signal) => setTimeout(hurried ? 50 : ms, undefined, signal ? { signal } : {}),
      })
      const exitCode = await runProgram(args, around, [commands])
      said += out + err
      return { exitCode, out, err: withoutSigns(err) }
    },
  }
}
