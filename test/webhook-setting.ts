import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Webhook } from 'standardwebhooks'
import { vi } from 'vitest'
import * as accounts from '../src/identity/accounts/store.ts'
import type { Clock } from '../src/kernel/clock.ts'
import { systemRandom } from '../src/kernel/random.ts'
import { createGuardedFetch, type GuardedFetchOptions } from '../src/net/guarded-fetch.ts'
import { createEndpoint } from '../src/webhooks/endpoints/service.ts'
import { type SecretBox, secretBox } from '../src/webhooks/secret.ts'
import { type Sending, type SendingOptions, startSending } from '../src/webhooks/sending/worker.ts'
import type { TestDatabase } from './database.ts'

/** One request that a receiver got. */
export interface Received {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects, and fails where it is not
  readonly json: any
}

/** A real receiver on loopback. */
export interface Receiver {
  readonly url: string
  readonly got: Received[]
  /** Answers a request; 200 unless a test says otherwise. */
  behaviour: (response: ServerResponse, request: Received) => void
  close(): Promise<void>
}

/** Starts a receiver. */
export async function startReceiver(port = 0): Promise<Receiver> {
  const server = createServer(async (request, response) => {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece as Buffer)
    const text = Buffer.concat(pieces).toString()
    const received = { path: request.url ?? '', headers: request.headers, text, json: JSON.parse(text || 'null') }
    receiver.got.push(received)
    receiver.behaviour(response, received)
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const receiver: Receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    got: [],
    behaviour: answering(200),
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return receiver
}

/** Answers with a status. */
export const answering =
  (status: number, headers: Record<string, string> = {}) =>
  (response: ServerResponse): void => {
    response.writeHead(status, headers).end('an answer')
  }

/** What standardwebhooks says of a request at the moment of its own timestamp; throws when it does not verify. */
export function verified(request: Received, secret: string): unknown {
  vi.useFakeTimers({ toFake: ['Date'], now: Number(request.headers['webhook-timestamp']) * 1000 })
  try {
    return new Webhook(secret).verify(request.text, request.headers as Record<string, string>)
  } finally {
    vi.useRealTimers()
  }
}

/** Waits until a condition holds. The limit is far: these tests wait for what happens, not for a time. */
export async function until(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  for (const deadline = performance.now() + 50_000; performance.now() < deadline; ) {
    if (await condition()) return
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  throw new Error(`never came true: ${what}`)
}

/** Workers on one database with a clock that is moved by hand. */
export interface WebhookSetting {
  readonly clock: Clock & { advance(ms: number): void }
  readonly secrets: SecretBox
  /** Words of attempts and troubles, as they came. */
  readonly words: string[]
  readonly troubles: string[]
  readonly disabled: string[]
  account(): Promise<bigint>
  endpoint(accountId: bigint, url: string, events?: string[]): Promise<{ id: bigint; secret: string }>
  /** Writes an event as the rooms that own it do. */
  tell(accountId: bigint, objectId: string, payload?: Record<string, unknown>, event?: string): Promise<bigint>
  start(more?: Partial<SendingOptions>, guard?: Partial<GuardedFetchOptions>): Sending
  /** The delivery of an event at an endpoint. */
  delivery(endpointId: bigint, eventId: bigint): Promise<DeliveryRow>
  /** Waits until nothing is due or under way. */
  settled(): Promise<void>
  /** Moves the clock to the next attempt of this delivery. */
  toNextAttempt(endpointId: bigint, eventId: bigint): Promise<void>
  stop(): Promise<void>
}

/** A delivery as the database has it. */
export interface DeliveryRow {
  readonly id: bigint
  readonly state: string
  readonly attempts: number
  readonly last_outcome: string | null
  readonly last_status: number | null
  readonly next_attempt_at: Date
}

/** Opens a setting, as servers with this pepper are one; `stop` ends its workers. */
export function webhookSetting(database: TestDatabase, pepper: Buffer = randomBytes(32)): WebhookSetting {
  let now = Date.now()
  const clock = {
    now: () => new Date(now),
    monotonicMs: () => performance.now(),
    advance(ms: number) {
      now += ms
    },
  }
  const secrets = secretBox({ pepper, random: systemRandom })
  const rows = rowsIn(database)
  const heard = { words: [] as string[], troubles: [] as string[], disabled: [] as string[] }
  return {
    clock,
    secrets,
    ...heard,
    ...rows,
    ...workers({
      db: database.db,
      clock,
      random: systemRandom,
      secrets,
      timeoutMs: 30_000,
      pollMs: 5,
      onAttempt: (word) => heard.words.push(word),
      onDisabled: (id, reason) => heard.disabled.push(`${id} ${reason}`),
      onTrouble: (message, error) => heard.troubles.push(`${message}: ${error}`),
    }),
    async endpoint(accountId, url, events = []) {
      const deps = { db: database.db, clock, secrets, addresses: { allowedNetworks: ['127.0.0.0/8'], plainHttp: true } }
      const wanted = { accountId, url, events, description: '', requestId: 'req_test' }
      const { endpoint, secret } = await createEndpoint(deps, wanted)
      return { id: endpoint.id, secret }
    },
    async settled() {
      await until(async () => {
        if (heard.troubles.length > 0) throw new Error(heard.troubles[0])
        return rows.isIdle(clock.now())
      }, 'nothing is due')
    },
    async toNextAttempt(endpointId, eventId) {
      const { next_attempt_at } = await rows.delivery(endpointId, eventId)
      now = Math.max(now, next_attempt_at.getTime())
    },
  }
}

function workers(options: Omit<SendingOptions, 'guarded'>): Pick<WebhookSetting, 'start' | 'stop'> {
  const sendings: Sending[] = []
  const closing: Array<() => Promise<void>> = []
  return {
    start(more = {}, guard = {}) {
      const guarded = createGuardedFetch({
        allowedNetworks: ['127.0.0.0/8'],
        connectionsPerOrigin: 16,
        connectTimeoutMs: 10_000,
        ...guard,
      })
      closing.push(() => guarded.close())
      const sending = startSending({ ...options, guarded, ...more })
      sendings.push(sending)
      return sending
    },
    async stop() {
      await Promise.all(sendings.map((sending) => sending.stop()))
      await Promise.all(closing.map((close) => close()))
    },
  }
}

function rowsIn({ db, sql }: TestDatabase) {
  const find = (endpointId: bigint, eventId: bigint) =>
    db
      .selectFrom('webhook_deliveries')
      .select(['id', 'state', 'attempts', 'last_outcome', 'last_status', 'next_attempt_at'])
      .where('endpoint_id', '=', endpointId)
      .where('event_id', '=', eventId)
      .executeTakeFirst()
  return {
    account: () =>
      db
        .transaction()
        .execute((tx) =>
          accounts.insert(tx, { accountType: 'owner', walletAddress: undefined, email: undefined, label: undefined }),
        ),
    async tell(accountId: bigint, objectId: string, payload: object = {}, event = 'order.completed') {
      const row = await db
        .insertInto('outbox')
        .values({ event, account_id: accountId, object_id: objectId, payload: JSON.stringify(payload) })
        .returning('id')
        .executeTakeFirstOrThrow()
      return row.id
    },
    async delivery(endpointId: bigint, eventId: bigint): Promise<DeliveryRow> {
      await until(async () => (await find(endpointId, eventId)) !== undefined, 'the delivery is made')
      return (await find(endpointId, eventId)) as DeliveryRow
    },
    async isIdle(now: Date): Promise<boolean> {
      const [row] = await sql<{ idle: boolean }>(
        `select not exists (select from outbox where delivered_at is null) and not exists (
           select from webhook_deliveries d
           where state = 'pending' and (leased_until is not null or next_attempt_at <= $1 and not exists (
             select from webhook_deliveries e where e.endpoint_id = d.endpoint_id and e.object = d.object
               and e.state = 'pending' and e.event_id < d.event_id))
         ) as idle`,
        [now],
      )
      return row?.idle === true
    },
  }
}
