import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { auditLedger } from '../../src/ledger/audit.ts'
import { freshDatabase, type TestDatabase } from '../database.ts'
import { keyOfNewAccount } from '../server-process.ts'
import { type HaltingProvider, haltingProvider, type Point, points, promptAt } from './provider.ts'

/** The long form: FAREBOX_TASK_ROUNDS=20 kills in each state that often. The short one kills once, with tasks in all of them. */
const ROUNDS = Number(process.env.FAREBOX_TASK_ROUNDS ?? 0)
const CREDITS = 1_000_000_000n
const PRICE = 40_000n
/** Tasks that are at one point when their process is killed. */
const TASKS = 3

interface RunningServer {
  readonly url: string
  readonly child: ChildProcess
  kill(): Promise<void>
}

let database: TestDatabase
let provider: HaltingProvider
let key: string
const pepper = randomBytes(32).toString('hex')
const running = new Set<RunningServer>()

async function start(): Promise<RunningServer> {
  const child = spawn(process.execPath, [fileURLToPath(new URL('server.ts', import.meta.url))], {
    env: { PATH: process.env.PATH, DATABASE_URL: database.url, PROVIDER_URL: provider.url, PEPPER: pepper },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  child.stderr.on('data', (data) => (said += data))
  const exited = once(child, 'exit')
  const lines = createInterface({ input: child.stdout })
  const [url] = (await Promise.race([
    once(lines, 'line'),
    exited.then(() => Promise.reject(new Error(`the server ended: ${said}`))),
  ])) as [string]
  const server: RunningServer = {
    url,
    child,
    async kill() {
      running.delete(server)
      child.kill('SIGKILL')
      await exited
    },
  }
  running.add(server)
  return server
}

beforeAll(async () => {
  ;[database, provider] = await Promise.all([freshDatabase(), haltingProvider()])
  key = await keyOfNewAccount(database, pepper, CREDITS)
})
afterAll(async () => {
  await Promise.all([...running].map((server) => server.kill()))
  await provider.close()
  await database.drop()
})

/** Asks for an image; gives the status, or undefined when the server died first. */
async function post(
  server: RunningServer,
  prompt: string,
  { headers = {}, model = 'demo-image' }: { headers?: Record<string, string>; model?: string } = {},
): Promise<number | undefined> {
  const response = await fetch(`${server.url}/v1/images/generations`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model, prompt }),
  }).catch(() => undefined)
  await response?.arrayBuffer().catch(() => undefined)
  return response?.status
}

/** The same as a client does that is told to come back: with a key that makes one task of all its requests. */
async function postUntilTaken(server: RunningServer, prompt: string): Promise<number | undefined> {
  for (;;) {
    const status = await post(server, prompt, { headers: { 'idempotency-key': prompt } })
    if (status !== 503 && status !== 409) return status
    await new Promise((resolve) => setTimeout(resolve, 1_000))
  }
}

interface TaskSeen {
  readonly prompt: string
  readonly model: string
  readonly state: string
  readonly unknown: boolean
  readonly kind: string | null
  readonly actual: bigint | null
  readonly told: number
}

const tasksSeen = (): Promise<TaskSeen[]> =>
  database.pool
    .query<TaskSeen>(
      `select t.request ->> 'prompt' as prompt, t.model, t.state, t.unknown_at is not null as unknown, r.kind, r.actual_micro as actual,
              (select count(*)::int from outbox o where o.object_id = 'task_' || replace(t.id::text, '-', '')) as told
       from tasks t left join hold_resolutions r on r.hold_id = t.hold_id where t.held`,
    )
    .then(({ rows }) => rows)

/** Brings tasks to their points, kills their server there, and waits until another one has ended all of them. */
async function round(server: RunningServer, at: readonly Point[], n: string): Promise<RunningServer> {
  const prompts = at.flatMap((point) => Array.from({ length: TASKS }, (_, k) => promptAt(point, `${n} ${k}`)))
  const [early, late] = [
    prompts.filter((p) => !p.startsWith('posting')),
    prompts.filter((p) => p.startsWith('posting')),
  ]
  provider.arm()
  const answers = await Promise.all(early.map((prompt) => post(server, prompt)))
  // the same at a provider that cannot be asked what became of it
  const blind = at.includes('submitting') ? promptAt('submitting', `${n} blind`) : undefined
  if (blind) {
    answers.push(await post(server, blind, { model: 'demo-blind' }))
    early.push(blind)
  }
  expect(answers.filter((status) => status !== 202)).toEqual([])
  await vi.waitFor(() => expect([...provider.halted].sort()).toEqual([...early].sort()), {
    timeout: 30_000,
    interval: 2,
  })
  const posting = late.map((prompt) => post(server, prompt))
  // somewhere between a request and its answer, which takes a while on a busy machine, or shortly after the provider's
  await new Promise((resolve) => setTimeout(resolve, Math.random() * (late.length > 0 ? 150 : 25)))
  await server.kill()
  await Promise.all(posting)
  provider.release()
  const next = await start()
  await vi.waitFor(
    async () => {
      const open = (await tasksSeen()).filter(({ model, state, unknown }) =>
        model === 'demo-blind' ? !unknown : state !== 'success',
      )
      expect(open).toEqual([])
    },
    { timeout: 30_000, interval: 50 },
  )
  return next
}

test(`kill -9 in each state of a task: each task is submitted once, charged once and told once, ${ROUNDS || 1} times`, {
  timeout: 120_000 + ROUNDS * 60_000,
}, async () => {
  let server = await start()
  if (ROUNDS === 0) server = await round(server, points, 'all')
  else for (const point of points) for (let n = 0; n < ROUNDS; n++) server = await round(server, [point], String(n))
  // what was lost where nobody can be asked stays held, and what was never answered is given back
  const unknownMicro = PRICE * BigInt(Math.max(1, ROUNDS))
  await vi.waitFor(async () => expect(await balance()).toMatchObject({ held: String(unknownMicro) }), {
    timeout: 30_000,
    interval: 100,
  })
  const all = await tasksSeen()
  const blind = all.filter(({ model }) => model === 'demo-blind')
  expect(blind.map(({ state, kind, told, prompt }) => [state, kind, told, provider.submissions.get(prompt)])).toEqual(
    blind.map(() => ['queuing', null, 0, 1]),
  )
  const seen = all.filter((task) => !blind.includes(task))
  const wanted = (points.length - 1) * TASKS * Math.max(1, ROUNDS)
  expect(seen.filter(({ prompt }) => !prompt.startsWith('posting'))).toHaveLength(wanted)
  expect(seen.filter(({ prompt }) => provider.submissions.get(prompt) !== 1)).toEqual([])
  expect([...provider.submissions.values()].filter((count) => count !== 1)).toEqual([])
  expect(provider.submissions.size).toBe(all.length)
  expect(seen.filter(({ kind, actual, told }) => kind !== 'captured' || actual !== PRICE || told !== 1)).toEqual([])
  expect(await balance()).toEqual({ posted: String(CREDITS - PRICE * BigInt(seen.length)), held: String(unknownMicro) })
  expect(await auditLedger(database.db)).toEqual([])
  if (ROUNDS > 0)
    process.stdout.write(
      `tasks: ${points.length * ROUNDS} rounds, ${seen.length} tasks, each submitted and charged once\n`,
    )
})

const balance = async (): Promise<{ posted: string; held: string } | undefined> =>
  (
    await database.sql<{ posted: string; held: string }>(
      'select sum(posted_micro)::text as posted, sum(held_micro)::text as held from buckets',
    )
  )[0]

if (ROUNDS > 0)
  test('500 tasks at once on two processes all finish, hold nothing at the end, and stay below 300 MB each', {
    timeout: 300_000,
  }, async () => {
    const servers = [await start(), await start()] as const
    const { posted = '0', held } = (await balance()) ?? {}
    const before = BigInt(posted)
    const beganMs = performance.now()
    const statuses = await Promise.all(
      Array.from({ length: 500 }, (_, n) => postUntilTaken(servers[n % 2] as RunningServer, `many ${n}`)),
    )
    expect(statuses.filter((status) => status !== 202)).toEqual([])
    await vi.waitFor(
      async () =>
        expect((await tasksSeen()).filter(({ state, unknown }) => state !== 'success' && !unknown)).toEqual([]),
      {
        timeout: 120_000,
        interval: 200,
      },
    )
    const seconds = (performance.now() - beganMs) / 1000
    expect(await balance()).toEqual({ posted: String(before - 500n * PRICE), held })
    expect([...provider.submissions].filter(([prompt, count]) => prompt.startsWith('many ') && count !== 1)).toEqual([])
    const peaks = await Promise.all(
      servers.map(async ({ child }) => {
        const status = await readFile(`/proc/${child.pid}/status`, 'utf8')
        return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) / 1024
      }),
    )
    process.stdout.write(`tasks: 500 on two processes in ${seconds.toFixed(1)} s, peaks ${peaks.map(Math.round)} MB\n`)
    for (const peak of peaks) expect(peak).toBeLessThan(300)
    expect(await auditLedger(database.db)).toEqual([])
  })
