import { afterAll, beforeAll, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../../test/database.ts'
import { loadConfig } from '../../config/config.ts'
import { createServer } from '../../http/server.ts'
import { systemClock } from '../../kernel/clock.ts'
import { Fault } from '../../kernel/errors.ts'
import { systemRandom } from '../../kernel/random.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { ChatProvider } from '../../providers/provider.ts'
import { chatRoutes } from './routes.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await freshDatabase()
  await database.sql('insert into families (id) values (1)')
  await database.sql(
    `insert into accounts (id, account_type, family_id) overriding system value values (1, 'owner', 1)`,
  )
})
afterAll(() => database.drop())

/** A ledger that grants every hold and whose database then stays away longer than anybody waits. */
const ledger = {
  nextHoldId: async () => 5n,
  reserve: async ({ wantedMicro }: { wantedMicro: bigint }) => ({
    kind: 'reserved',
    reserveMicro: wantedMicro,
    availableMicro: 0n,
  }),
  end: async () => Promise.reject(new Fault('unavailable')),
} as unknown as Ledger

function serverAsking(provider: ChatProvider) {
  const { config } = loadConfig({
    environment: {},
    readFile: (path) => (path === 'farebox.yaml' ? FILE : undefined),
    now: systemClock.now(),
    mode: 'development',
  })
  const caller = { accountId: 1n, credential: { kind: 'api_key', id: 1n } } as const
  return createServer({
    routes: chatRoutes({
      db: database.db,
      ledger,
      processId: 1n,
      clock: systemClock,
      providers: { p: provider },
      onTrouble: () => undefined,
      models: () => new Map(config.models.map((model) => [model.id, model])),
      paymentHint: () => ({}),
      drainMs: 1000,
      ending: new AbortController().signal,
      onAttempt: () => undefined,
      onChat: () => undefined,
      chatBodyLimit: 10_000,
      streamsMax: undefined,
    }),
    authenticator: { authenticate: async () => caller, recognise: async () => caller },
    random: systemRandom,
    bodyLimit: 1000,
    trustedProxies: [],
    onAnswered: () => undefined,
    onFault: () => undefined,
  })
}

const FILE = `
providers: { p: { kind: openai-compatible, base_url: "http://127.0.0.1:1/v1" } }
models:
  - id: m
    name: m
    context_length: 1000
    max_output_tokens: 100
    default_output_tokens: 100
    providers: [{ provider: p, model: m }]
    prices: [{ version: 1, effective_from: 2026-01-01T00:00:00Z, input_micro_per_m: 1, output_micro_per_m: 1 }]
`

test.each([[false], [true]])(
  'a call that was answered but could not be charged in time is never made again under its key (streamed: %s)',
  async (stream) => {
    let asked = 0
    const usage = { inputTokens: 1, outputTokens: 1, cachedInputTokens: 0 }
    const server = serverAsking({
      close: async () => undefined,
      async chat() {
        asked += 1
        return stream
          ? {
              kind: 'stream',
              providerRequestId: undefined,
              batches: (async function* () {
                yield ['{"choices":[]}']
              })(),
            }
          : { kind: 'answer', body: {}, usage, providerRequestId: undefined }
      },
    })
    await server.listen({ host: '127.0.0.1', port: 0 })
    const call = () =>
      fetch(`${server.listeningOrigin}/v1/chat/completions`, {
        method: 'POST',
        headers: {
          authorization: 'Bearer x',
          'content-type': 'application/json',
          'idempotency-key': `unwritten ${stream}`,
        },
        body: JSON.stringify({ model: 'm', stream, messages: [{ role: 'user', content: 'x' }] }),
      }).then(async (response) => ({ status: response.status, text: await response.text() }))
    const first = await call()
    expect(first.text).toContain('could not be written')
    expect(first.text).not.toContain('no call is made')
    expect(await call()).toEqual(first)
    expect(asked).toBe(1)
    await server.close()
  },
)
