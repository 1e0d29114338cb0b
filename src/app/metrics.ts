import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { InvocationReport } from '../capabilities/invocation.ts'
import type { Answered } from '../http/server.ts'
import type { ChatReport } from '../inference/chat/running.ts'
import type { FlushReport } from '../ledger/applier.ts'
import type { queue } from '../payments/orders/review/store.ts'
import type { ChainStatus } from '../payments/watcher/status.ts'

/** Numbers that are read when they are asked for. */
export interface Sampled {
  readonly queueDepth: () => number
  readonly openHolds: () => number
  readonly heldMicro: () => Promise<Record<'in_flight' | 'usage_unknown' | 'pending_settlement' | 'review', number>>
}

/** How payments stand, by asset and by chain. */
export interface PaymentsSampled {
  readonly reports: () => Promise<ReadonlyArray<{ assetId: string; ok: boolean; drift: bigint; at: Date | undefined }>>
  readonly status: () => readonly ChainStatus[]
  /** What waits for an operator. */
  readonly queue: () => ReturnType<typeof queue>
  readonly now: () => Date
}

/** Everything that the server counts. No label ever names an account, a key or a request. */
export interface Metrics {
  readonly registry: Registry
  answered(answered: Answered): void
  flushed(report: FlushReport): void
  attempted(provider: string, kind: string): void
  chatted(report: ChatReport): void
  invoked(report: InvocationReport): void
  reloaded(taken: boolean, atSeconds: number): void
  audited(findings: number, atSeconds: number): void
}

/** The one file that knows the metrics library. */
export function createMetrics(sampled: Sampled): Metrics {
  const registry = new Registry()
  sampleInto(registry, sampled)
  return {
    registry,
    ...requestMetrics(registry),
    ...ledgerMetrics(registry),
    ...callMetrics(registry),
    ...capabilityMetrics(registry),
    ...configurationMetrics(registry),
  }
}

type Counting<M extends keyof Metrics> = Pick<Metrics, M>

const counterIn =
  (registry: Registry) =>
  <L extends string>(name: string, help: string, labelNames: L[]) =>
    new Counter({ name, help, labelNames, registers: [registry] })

function requestMetrics(registry: Registry): Counting<'answered'> {
  const requests = counterIn(registry)('farebox_requests_total', 'Requests answered', ['route', 'method', 'status'])
  const duration = new Histogram({
    name: 'farebox_request_seconds',
    help: 'Time to answer',
    labelNames: ['route'],
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60],
    registers: [registry],
  })
  return {
    answered({ route, method, status, durationMs }) {
      requests.inc({ route, method, status: String(status) })
      duration.observe({ route }, durationMs / 1000)
    },
  }
}

function ledgerMetrics(registry: Registry): Counting<'flushed' | 'audited'> {
  const registers = [registry]
  const size = new Histogram({
    name: 'farebox_ledger_flush_operations',
    help: 'Ledger operations in one flush',
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512],
    registers,
  })
  const seconds = new Histogram({
    name: 'farebox_ledger_flush_seconds',
    help: 'Time of one ledger flush',
    buckets: [0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1],
    registers,
  })
  const findings = new Gauge({
    name: 'farebox_ledger_audit_findings',
    help: 'Rows of the last whole ledger audit and of what was audited since: must be 0',
    registers,
  })
  const auditedAt = new Gauge({
    name: 'farebox_ledger_audit_timestamp_seconds',
    help: 'When the last ledger audit ended',
    registers,
  })
  return {
    flushed(flush) {
      size.observe(flush.size)
      seconds.observe(flush.durationMs / 1000)
    },
    audited(count, atSeconds) {
      findings.set(count)
      auditedAt.set(atSeconds)
    },
  }
}

function callMetrics(registry: Registry): Counting<'attempted' | 'chatted'> {
  const counter = counterIn(registry)
  const calls = counter('farebox_calls_total', 'Calls by how their money ended', ['model', 'state'])
  const charged = counter('farebox_charged_micro_total', 'Microcredits charged', ['model'])
  const cost = counter(
    'farebox_provider_cost_micro_total',
    'What providers charge the operator for the same calls, in microcredits',
    ['model'],
  )
  const attempts = counter('farebox_provider_requests_total', 'Attempts at providers by how they ended', [
    'provider',
    'outcome',
  ])
  return {
    attempted: (provider, outcome) => attempts.inc({ provider, outcome }),
    chatted({ model, state, chargedMicro, providerCostMicro }) {
      calls.inc({ model, state })
      if (chargedMicro !== undefined) charged.inc({ model }, Number(chargedMicro))
      if (providerCostMicro !== undefined) cost.inc({ model }, Number(providerCostMicro))
    },
  }
}

function capabilityMetrics(registry: Registry): Counting<'invoked'> {
  const counter = counterIn(registry)
  const labels = ['capability', 'operation']
  const calls = counter('farebox_capability_calls_total', 'Calls of capabilities by how their money ended', [
    ...labels,
    'state',
  ])
  const charged = counter('farebox_capability_charged_micro_total', 'Microcredits charged for capabilities', labels)
  return {
    invoked({ capability, operation, state, chargedMicro }) {
      calls.inc({ capability, operation, state })
      if (chargedMicro !== undefined) charged.inc({ capability, operation }, Number(chargedMicro))
    },
  }
}

function configurationMetrics(registry: Registry): Counting<'reloaded'> {
  const registers = [registry]
  const ok = new Gauge({
    name: 'farebox_configuration_ok',
    help: 'Whether the configuration could be used when it was last read: must be 1',
    registers,
  })
  const readAt = new Gauge({
    name: 'farebox_configuration_read_timestamp_seconds',
    help: 'When the configuration was last read again; 0 since the start not',
    registers,
  })
  ok.set(1)
  readAt.set(0)
  return {
    reloaded(taken, atSeconds) {
      ok.set(taken ? 1 : 0)
      readAt.set(atSeconds)
    },
  }
}

/** Gauges that are read only when somebody asks. */
function sampleInto(registry: Registry, sampled: Sampled): void {
  const gauge = (name: string, help: string, read: () => number) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(read())
      },
    })
  gauge('farebox_ledger_queue_operations', 'Ledger operations without an answer yet', sampled.queueDepth)
  gauge('farebox_open_calls', 'Calls of this process whose hold has not ended', sampled.openHolds)
  gauge('farebox_resident_memory_bytes', 'Memory of this process', () => process.memoryUsage.rss())
  new Gauge({
    name: 'farebox_held_micro',
    help: 'Microcredits held, by why',
    labelNames: ['state'],
    registers: [registry],
    async collect() {
      for (const [state, micro] of Object.entries(await sampled.heldMicro())) this.set({ state }, micro)
    },
  })
}

/** What waits to be delivered. */
export interface WebhookBacklog {
  readonly events: number
  readonly deliveries: number
  /** Seconds since the oldest delivery that waits became due. */
  readonly lagSeconds: number
}

/** Counts attempts at webhooks by outcome, and samples what waits when somebody asks. */
export function webhookMetrics(
  registry: Registry,
  read: () => Promise<WebhookBacklog>,
): { attempted(outcome: string): void } {
  const attempts = counterIn(registry)('farebox_webhook_attempts_total', 'Attempts to deliver events', ['outcome'])
  const lag = new Gauge({
    name: 'farebox_webhook_lag_seconds',
    help: 'How long the oldest webhook delivery that waits has been due',
    registers: [registry],
  })
  new Gauge({
    name: 'farebox_webhook_queue',
    help: 'Events that no delivery was made for yet, and deliveries that are not ended',
    labelNames: ['waiting'],
    registers: [registry],
    async collect() {
      const backlog = await read().catch(() => undefined)
      if (!backlog) return
      this.set({ waiting: 'events' }, backlog.events)
      this.set({ waiting: 'deliveries' }, backlog.deliveries)
      lag.set(backlog.lagSeconds)
    },
  })
  return { attempted: (outcome) => attempts.inc({ outcome }) }
}

/** Gauges of payments: joined when the chains are open, which is after the first metrics are. */
export function samplePayments(registry: Registry, { reports, status, queue, now }: PaymentsSampled): void {
  const gauge = (name: string, help: string, label: string, read: () => Promise<Array<readonly [string, number]>>) =>
    new Gauge({
      name,
      help,
      labelNames: [label],
      registers: [registry],
      async collect() {
        for (const [value, number] of await read()) this.set({ [label]: value }, number)
      },
    })
  const compared = async () => await reports().catch(() => [])
  gauge(
    'farebox_reconciliation_ok',
    'Whether received and credited agree and were compared lately: must be 1',
    'asset',
    async () => (await compared()).map(({ assetId, ok }) => [assetId, ok ? 1 : 0]),
  )
  gauge('farebox_reconciliation_drift_micro', 'Received less what is recorded: must be 0', 'asset', async () =>
    (await compared()).map(({ assetId, drift }) => [assetId, Number(drift)]),
  )
  gauge(
    'farebox_reconciliation_timestamp_seconds',
    'When received and credited were last compared',
    'asset',
    async () => (await compared()).map(({ assetId, at }) => [assetId, (at?.getTime() ?? 0) / 1000]),
  )
  const ofChains = (name: string, help: string, read: (chain: ChainStatus) => number) =>
    gauge(name, help, 'chain', async () => status().map((chain) => [String(chain.chainId), read(chain)]))
  ofChains('farebox_chain_healthy', 'Whether the nodes of a chain answer and agree', ({ healthy }) => Number(healthy))
  ofChains('farebox_chain_stopped', 'Whether a chain waits for `farebox chain rewind`: must be 0', ({ stopped }) =>
    Number(stopped),
  )
  ofChains('farebox_chain_blocks_behind', 'Blocks of a chain still to be read', ({ behind }) => Number(behind))
  ofChains('farebox_chain_head_age_seconds', 'Age of the newest block that was seen', ({ headAt }) =>
    headAt === undefined ? Number.POSITIVE_INFINITY : (now().getTime() - headAt.getTime()) / 1000,
  )
  ofChains(
    'farebox_chain_disagreements',
    'How often nodes said different things, seen by this process',
    ({ disagreements }) => disagreements,
  )
  ofChains(
    'farebox_chain_reorganisations',
    'Reorganisations that this process followed',
    ({ reorganisations }) => reorganisations,
  )
  ofChains('farebox_chain_credited', 'Payments that this process credited', ({ credited }) => credited)
  const waiting = async () => await queue().catch(() => undefined)
  gauge('farebox_payment_reviews', 'Payments that wait for an operator: `farebox review list`', 'kind', async () => {
    const found = await waiting()
    return found ? [['order', found.orders] as const, ['transfer', found.transfers] as const] : []
  })
  gauge('farebox_payment_review_seconds', 'How long the oldest of them waits', 'kind', async () => {
    const found = await waiting()
    return found ? [['oldest', found.oldestSeconds] as const] : []
  })
}

/** How top-ups by x402 stand; undefined where there are none. */
export interface X402Sampled {
  readonly ok: boolean
  readonly gas: { readonly balance: bigint; readonly payments: bigint } | undefined
  readonly open: number
  readonly inReview: number
}

/** Gauges of x402 and its relayer. */
export function sampleX402(registry: Registry, read: () => Promise<X402Sampled | undefined>): void {
  const gauge = (name: string, help: string, number: (status: X402Sampled) => number | undefined) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      async collect() {
        const status = await read().catch(() => undefined)
        const value = status && number(status)
        if (value === undefined) this.reset()
        else this.set(value)
      },
    })
  gauge('farebox_x402_ok', 'Whether x402 payments are taken and their gas is paid for: must be 1', ({ ok }) =>
    ok ? 1 : 0,
  )
  gauge('farebox_x402_open_payments', 'x402 payments on their way', ({ open }) => open)
  gauge('farebox_x402_review_payments', 'x402 payments that need the operator', ({ inReview }) => inReview)
  gauge('farebox_relayer_balance_wei', 'Native currency of the relayer', ({ gas }) => gas && Number(gas.balance))
  gauge(
    'farebox_relayer_payments_left',
    'Payments that the gas money of the relayer lasts for, at the price of now',
    ({ gas }) => gas && Number(gas.payments),
  )
}
