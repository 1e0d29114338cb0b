import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { InvocationReport } from '../capabilities/invocation.ts'
import type { Answered } from '../http/server.ts'
import type { ChatReport } from '../inference/chat/running.ts'
import type { FlushReport } from '../ledger/applier.ts'

/** Numbers that are read when they are asked for. */
export interface Sampled {
  readonly queueDepth: () => number
  readonly openHolds: () => number
  readonly heldMicro: () => Promise<Record<'in_flight' | 'usage_unknown' | 'pending_settlement' | 'review', number>>
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

/** What every server counts; the rooms that may be closed have their gauges in files of their own, beside this one. */
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
