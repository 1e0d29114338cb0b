import type { MediaParts } from '../../src/media/parts.ts'
import type { KeptFile, ResultKeeper } from '../../src/media/results-port.ts'
import type { TaskPace } from '../../src/media/tasks/deps.ts'
import type { MediaEnd, MediaJob, MediaProvider, Submitted } from '../../src/providers/media.ts'

/** A picture of one point. */
export const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

/** Media models of the test server, for `mediaModels`: `image` with tiers, two providers; `film` by the second. */
export const MEDIA_MODELS = `
  - id: image
    name: Image
    type: image
    input_images_max: 2
    providers: [{ provider: mock, model: painter }, { provider: backup, model: other-painter, priority: 1 }]
    prices:
      - { version: 1, effective_from: 2026-01-01T00:00:00Z, unit: image, unit_price_micro: 40000, tiers: [{ resolution: 4K, unit_price_micro: 90000 }] }
  - id: film
    name: Film
    type: video
    providers: [{ provider: mock, model: director }]
    prices: [{ version: 3, effective_from: 2026-01-01T00:00:00Z, unit: second, unit_price_micro: 100000 }]
  - id: clip
    name: Clip
    type: video
    timeout_ms: 1000
    providers: [{ provider: mock, model: director }]
    prices: [{ version: 1, effective_from: 2026-01-01T00:00:00Z, unit: clip, unit_price_micro: 250000 }]
  - id: free
    name: Free
    type: image
    providers: [{ provider: mock, model: painter }]
    prices: [{ version: 1, effective_from: 2026-01-01T00:00:00Z, unit: image, unit_price_micro: 0 }]
`

/** What a scripted provider does with the next submissions; absent: it accepts and finishes when told, or at once. */
export type Script = (job: MediaJob) => Submitted | Promise<Submitted> | undefined

/** A provider that a test conducts. */
export interface ScriptedProvider extends MediaProvider {
  /** Every submission, in order. */
  readonly submissions: MediaJob[]
  readonly polls: string[]
  readonly cancels: string[]
  script: Script | undefined
  /** Whether accepted work is finished at the first question. */
  eager: boolean
  /** Ends accepted work, by its attempt's number in order of submission. */
  finish(n: number, end?: MediaEnd): void
  running(n: number, state: 'queuing' | 'generating', progress?: number): void
  /** Takes back `find`, as with a provider that offers none. */
  findable: boolean
}

/** Work that went well: `count` pictures. */
export const made = (count = 1, units?: number): MediaEnd => ({
  kind: 'succeeded',
  files: Array.from({ length: count }, () => ({ kind: 'bytes', bytes: PIXEL })),
  units,
})

/** A provider that accepts everything and finishes when it is told, or at once when `eager`. */
export function scriptedProvider(): ScriptedProvider {
  const ends = new Map<string, MediaEnd>()
  const states = new Map<string, { state: 'queuing' | 'generating'; progress: number | undefined }>()
  const nameOf = (n: number): string => `job-${provider.submissions[n]?.attemptId}`
  const provider: ScriptedProvider = {
    submissions: [],
    polls: [],
    cancels: [],
    script: undefined,
    eager: false,
    findable: false,
    finish: (n, end = made()) => void ends.set(nameOf(n), end),
    running: (n, state, progress) => void states.set(nameOf(n), { state, progress }),
    async submit(job) {
      provider.submissions.push(job)
      const scripted = await provider.script?.(job)
      if (scripted) return scripted
      return { kind: 'accepted', providerJobId: `job-${job.attemptId}`, memo: 'memo', nextPollMs: 20 }
    },
    async poll({ providerJobId, memo }) {
      provider.polls.push(providerJobId)
      if (memo !== 'memo') return { kind: 'missing' }
      const end = ends.get(providerJobId) ?? (provider.eager ? made() : undefined)
      if (end) return end
      const { state, progress } = states.get(providerJobId) ?? { state: 'generating', progress: undefined }
      return { kind: 'running', state, progress, nextPollMs: 20 }
    },
    get find() {
      if (!provider.findable) return undefined
      return async ({ attemptId }: { attemptId: string }) =>
        provider.submissions.some((job) => job.attemptId === attemptId)
          ? ({ kind: 'accepted', providerJobId: `job-${attemptId}`, memo: 'memo', nextPollMs: 20 } as const)
          : ({ kind: 'missing' } as const)
    },
    async cancel({ providerJobId }) {
      provider.cancels.push(providerJobId)
    },
    readCallback({ headers, body }) {
      if (headers['x-provider'] !== 'genuine') return undefined
      const { job, end, state } = JSON.parse(Buffer.from(body).toString()) as {
        job: string
        end?: 'made' | 'failed'
        state?: 'generating'
      }
      if (state) return { providerJobId: job, state: { kind: 'running', state, progress: 0.5, nextPollMs: 20 } }
      const failed: MediaEnd = { kind: 'failed', code: 'nsfw', message: 'refused by the filter', billed: false }
      return { providerJobId: job, state: end === 'made' ? made() : failed }
    },
    close: async () => undefined,
  }
  return provider
}

/** Keeps results in memory, and gives links that say which file they are of. */
export function resultsInMemory(): ResultKeeper & { readonly kept: Map<string, Uint8Array>; failing: boolean } {
  const kept = new Map<string, Uint8Array>()
  const keeper = {
    kept,
    failing: false,
    async keep({ taskId }: { taskId: string }, files: Parameters<ResultKeeper['keep']>[1]) {
      if (keeper.failing) throw new Error('the disk is full')
      return files.map((file, n): KeptFile => {
        const bytes = file.kind === 'bytes' ? file.bytes : PIXEL
        kept.set(`${taskId}/${n}`, bytes)
        return { key: `${taskId}/${n}`, contentType: 'image/png', width: 1, height: 1, bytes: bytes.length }
      })
    },
    link: async ({ key }: KeptFile, until: Date) =>
      `https://files.example/${key}?until=${Math.floor(until.getTime() / 1000)}`,
    read: async ({ key }: KeptFile) => kept.get(key),
  }
  return keeper
}

/** A pace at which a test need not wait. */
export const QUICK: Partial<TaskPace> = {
  leaseMs: 3_000,
  idleMs: 25,
  pollMs: 25,
  latePollMs: 25,
  missingAfterMs: 50,
  keepPauseMs: 5,
  unheldMs: 300,
}

/** Two scripted providers with results in memory, for a test server. */
export function scriptedMedia() {
  const mock = scriptedProvider()
  const backup = scriptedProvider()
  const results = resultsInMemory()
  const parts: MediaParts = {
    providers: { mock, backup },
    results,
    pictureAt: (url) => ({ url, read: async () => undefined }),
    pace: QUICK,
  }
  return { mock, backup, results, parts }
}
