import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { RawEnvironment } from '../config/environment.ts'
import { readTextFile } from '../config/read-file.ts'
import type { Database } from '../db/database.ts'
import { systemClock } from '../kernel/clock.ts'
import type { Microcredits } from '../kernel/money.ts'
import { systemRandom } from '../kernel/random.ts'
import { openLane } from '../ledger/lane.ts'
import type { Operation, Status } from '../ledger/operations.ts'
import { register } from '../ledger/processes.ts'
import { operatorCommands } from './commands.ts'
import { runProgram } from './program.ts'

/** What a run of the program did. */
export interface Ran {
  readonly exitCode: number
  readonly out: string
  readonly err: string
  /** Standard output as JSON. */
  json<T>(): T
}

/** The pepper of the terminals below. */
export const testPepper = Buffer.alloc(32, 7)

/** The real program with captured output, in an empty data folder of its own. */
export function openTerminal(defaults: RawEnvironment): {
  run(args: readonly string[], more?: { input?: string; environment?: RawEnvironment }): Promise<Ran>
  folder: string
  close(): void
} {
  const folder = mkdtempSync(join(tmpdir(), 'farebox-operator-'))
  const environment = {
    FAREBOX_DATA: folder,
    FAREBOX_KEY_PEPPER: testPepper.toString('hex'),
    ...defaults,
  }
  return {
    folder,
    close: () => rmSync(folder, { recursive: true, force: true }),
    async run(args, more = {}) {
      let out = ''
      let err = ''
      const around = {
        environment: { ...environment, ...more.environment },
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
        write(text: string) {
          out += text
        },
        written: async () => undefined,
        writeError(text: string) {
          err += text
        },
      }
      const input = { readLine: async () => more.input ?? '', interactive: false }
      const commands = operatorCommands(input)
      const exitCode = await runProgram(args, around, commands)
      return { exitCode, out, err: withoutSigns(err), json: <T>() => JSON.parse(out) as T }
    },
  }
}

/** What was said on stderr without the signs of life, which only a busy machine sees. */
export const withoutSigns = (err: string): string => err.replace(/^… .* \(\d+ s\)\n/gm, '')

/** Text with what differs from run to run replaced, and columns joined by two spaces. */
export function masked(text: string, ids: Readonly<Record<string, string | number | bigint>> = {}): string {
  let result = text
    .replace(/fbx_\w{4}…\w{4}/g, '<short key>')
    .replace(/fbx_\w+/g, '<secret>')
    .replace(/req_\w+/g, '<request>')
    .replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '<uuid>')
    .replace(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ/g, '<time>')
    .replace(/\b\d+ (s|min)( ago| {2})/g, '<age>$2')
  for (const [name, id] of Object.entries(ids))
    result = result.replace(new RegExp(`\\b(?<![.-])${id}\\b(?![.-]\\d| Credits| micro)`, 'g'), `<${name}>`)
  return result.replace(/(\S) {2,}/g, '$1  ').trimEnd()
}

/** Applies operations as a server would. */
export async function applied(url: string, operations: readonly Operation[], processId = 0n): Promise<Status[]> {
  const lane = openLane({ url, processId, answerTimeoutMs: 10_000 })
  try {
    return (await lane.apply(operations)).map(({ status }) => status)
  } finally {
    await lane.close()
  }
}

/** A hold of 1000 microcredits, as a server makes it, left `running` or flagged `usage_unknown`. Gives its ids. */
export async function openHold(
  { db, url }: { db: Database; url: string },
  wanted: { accountId: bigint; keyId: bigint; state: 'running' | 'usage_unknown' },
): Promise<{ holdId: bigint; requestId: string }> {
  const processId = await register(db, { host: 'server', pid: 42, oldest_hold_id: 0n })
  const holdId = processId * 1000n
  const requestId = `req_${systemRandom.uuid().replaceAll('-', '')}`
  const micro = 1000n as Microcredits
  const statuses = await applied(
    url,
    [
      {
        operation: 'reserve',
        holdId,
        requestId,
        actorAccountId: wanted.accountId,
        credential: { kind: 'api_key', id: wanted.keyId },
        wantedMicro: micro,
        minimumMicro: micro,
        category: 'chat',
        subject: 'demo-chat',
        detail: { note: 'test' },
      },
    ],
    processId,
  )
  if (wanted.state === 'usage_unknown')
    statuses.push(...(await applied(url, [{ operation: 'unknown', holdId, reason: 'the connection broke' }])))
  if (statuses.join() !== (wanted.state === 'running' ? 'reserved' : 'reserved,usage_unknown'))
    throw new Error(`the hold is ${statuses.join()}`)
  return { holdId, requestId }
}
