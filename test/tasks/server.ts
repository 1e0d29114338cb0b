import { request } from 'node:http'
import { createApp } from '../../src/app/app.ts'
import { createLogger } from '../../src/app/logger.ts'
import { loadConfig } from '../../src/config/config.ts'
import { systemClock } from '../../src/kernel/clock.ts'
import { systemRandom } from '../../src/kernel/random.ts'
import type { MediaProvider } from '../../src/providers/media.ts'
import { MEDIA_MODELS, made, QUICK, resultsInMemory } from './media.ts'

// A whole server in a process of its own, whose providers and results are in the process that started it. Says where
// it listens as its first line.

const { DATABASE_URL = '', PROVIDER_URL = '', PEPPER = '' } = process.env

function ask(path: string, body: object): Promise<{ job?: string; found?: boolean; state?: string }> {
  return new Promise((resolve, reject) => {
    const sent = request(PROVIDER_URL + path, { method: 'POST' }, async (response) => {
      let text = ''
      for await (const piece of response.setEncoding('utf8')) text += piece
      resolve(JSON.parse(text))
    })
    sent.on('error', reject)
    sent.end(JSON.stringify(body))
  })
}

const provider = (canFind: boolean): MediaProvider => {
  const accepted = (attempt: string) =>
    ({ kind: 'accepted', providerJobId: attempt, memo: undefined, nextPollMs: 100 }) as const
  return {
    async submit({ attemptId, input }) {
      await ask('/submit', { attempt: attemptId, prompt: input.prompt })
      return accepted(attemptId)
    },
    async poll({ providerJobId }) {
      const { state } = await ask('/poll', { attempt: providerJobId })
      if (state === 'made') return { ...made(), files: [{ kind: 'url', url: `attempt:${providerJobId}` }] }
      return { kind: 'running', state: 'generating', progress: 0.5, nextPollMs: 100 }
    },
    find: canFind
      ? async ({ attemptId }) =>
          (await ask('/find', { attempt: attemptId })).found ? accepted(attemptId) : { kind: 'missing' }
      : undefined,
    cancel: undefined,
    readCallback: undefined,
    close: async () => undefined,
  }
}

const memory = resultsInMemory()
const configuration = `
allow_demo: true
providers:
  demo: { kind: demo }
  mock: { kind: demo }
  backup: { kind: demo }
models:
  - id: demo-chat
    name: Demo
    context_length: 1000
    max_output_tokens: 100
    default_output_tokens: 100
    providers: [{ provider: demo, model: chat }]
    prices: [{ version: 1, effective_from: 2026-01-01T00:00:00Z, input_micro_per_m: 0, output_micro_per_m: 0 }]
media_models:${MEDIA_MODELS.replaceAll('- id: ', '- id: demo-')}
  - id: demo-blind
    name: Blind
    type: image
    providers: [{ provider: backup, model: painter }]
    prices: [{ version: 1, effective_from: 2026-01-01T00:00:00Z, unit: image, unit_price_micro: 40000 }]
`
const { config, secrets } = loadConfig({
  environment: { PORT: '0', HOST: '127.0.0.1', FAREBOX_CONFIG: 'tasks.yaml' },
  readFile: (path) => (path === 'tasks.yaml' ? configuration : undefined),
  now: new Date(),
  mode: 'development',
})
const app = await createApp({
  config,
  secrets,
  databaseUrl: DATABASE_URL,
  pepper: Buffer.from(PEPPER, 'hex'),
  clock: systemClock,
  random: systemRandom,
  logger: createLogger({ level: 'warn', write: (text) => void process.stderr.write(text) }),
  version: '0.0.0-test',
  host: 'test',
  pid: process.pid,
  isRunning(pid) {
    try {
      return process.kill(pid, 0)
    } catch {
      return false
    }
  },
  media: {
    // what is lost at `mock` can be looked for, at `backup` it cannot
    providers: { mock: provider(true), backup: provider(false) },
    results: {
      ...memory,
      async keep(task, files, signal) {
        const [file] = files
        if (file?.kind === 'url') await ask('/keep', { attempt: file.url.slice('attempt:'.length) })
        return memory.keep(task, files, signal)
      },
    },
    pictureAt: (url) => ({ url, read: async () => undefined }),
    pace: QUICK,
  },
})
process.stdout.write(`${await app.server.listen({ host: '127.0.0.1', port: 0 })}\n`)
