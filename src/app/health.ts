import { Type } from 'typebox'
import { databaseAnswers } from '../db/answers.ts'
import type { Database } from '../db/database.ts'
import { type Route, route } from '../http/route.ts'
import type { Metrics } from './metrics.ts'
import type { Offer } from './offer.ts'
import type { Payments } from './payments.ts'
import type { X402 } from './x402.ts'

/** What is asked when the server is asked how it is. */
export interface HealthDeps {
  readonly db: Database
  readonly metrics: Metrics
  readonly version: string
  readonly closing: () => boolean
  readonly ledgerFailing: () => boolean
  readonly payments: Pick<Payments, 'watcher' | 'reports' | 'axon'>
  readonly offer: Pick<Offer, 'standing'>
  readonly x402: Pick<X402, 'status'>
  /** False where /metrics has a port of its own. */
  readonly serveMetrics: boolean
}

const silent = { ok: false, detail: 'the database does not answer' }
const Check = Type.Object({ ok: Type.Boolean(), detail: Type.Optional(Type.String()) })

/** Endpoints of machines that watch the server: outside /v1, without a credential, and they say nothing of accounts. */
export function healthRoutes(deps: HealthDeps): Route[] {
  const tag = 'Health'
  const plain = { tag, access: 'public', limit: 'unlimited', refuses: [] } as const
  const routes: Route[] = [
    route({
      ...plain,
      method: 'GET',
      path: '/healthz',
      summary: 'Say that the process answers.',
      replies: { 200: Type.Object({ ok: Type.Boolean() }) },
      handle: () => ({ ok: true }),
    }),
    route({
      ...plain,
      method: 'GET',
      path: '/readyz',
      summary: 'Say whether the server can take calls now, and why not.',
      replies: {
        200: Type.Object({ ready: Type.Boolean(), checks: Type.Record(Type.String(), Check) }),
        503: Type.Object({ ready: Type.Boolean(), checks: Type.Record(Type.String(), Check) }),
      },
      handle: async ({ reply }) => {
        const checks: Record<string, { ok: boolean; detail?: string }> = {
          serving: deps.closing() ? { ok: false, detail: 'shutting down' } : { ok: true },
          ledger: deps.ledgerFailing() ? silent : { ok: true },
          database: (await databaseAnswers(deps.db)) ? { ok: true } : silent,
        }
        const ready = Object.values(checks).every((check) => check.ok)
        // what is wrong with payments or with a new configuration is said, and keeps nobody from calling models
        Object.assign(checks, configurationChecks(deps.offer), await paymentChecks(deps.payments))
        const topUps = await deps.x402.status().catch(() => undefined)
        if (topUps) checks.x402 = { ok: topUps.ok, detail: topUps.detail }
        return reply
          .code(ready ? 200 : 503)
          .header('cache-control', 'no-store')
          .send({ ready, checks })
      },
    }),
    route({
      ...plain,
      method: 'GET',
      path: '/version',
      summary: 'Say which version this is.',
      replies: { 200: Type.Object({ name: Type.String(), version: Type.String() }) },
      handle: () => ({ name: 'farebox', version: deps.version }),
    }),
  ]
  if (deps.serveMetrics) {
    routes.push(
      route({
        ...plain,
        method: 'GET',
        path: '/metrics',
        summary: 'Metrics in Prometheus text form.',
        replies: { 200: { description: 'Prometheus text', contentType: 'text/plain' } },
        handle: async ({ reply }) =>
          reply.header('content-type', deps.metrics.registry.contentType).send(await deps.metrics.registry.metrics()),
      }),
    )
  }
  return routes
}

/** A refused file and blocked versions. */
function configurationChecks({ standing }: HealthDeps['offer']): Record<string, { ok: boolean; detail?: string }> {
  const { refused, drifted } = standing()
  return {
    configuration: refused === undefined ? { ok: true } : { ok: false, detail: refused },
    ...(drifted.length === 0
      ? {}
      : { capabilities: { ok: false, detail: `differ from what was frozen: ${drifted.join(', ')}` } }),
  }
}

async function paymentChecks({
  watcher,
  reports,
  axon,
}: HealthDeps['payments']): Promise<Record<string, { ok: boolean; detail?: string }>> {
  const chains = watcher.status().map((chain) => {
    const trouble = chain.stopped ? `stopped: ${chain.trouble}` : chain.trouble
    const detail = trouble ?? `${chain.behind} blocks behind`
    return [`chain_${chain.chainId}`, { ok: chain.healthy, detail }] as const
  })
  const compared = await reports().catch(() => [])
  const assets = compared.map(({ assetId, ok, detail }) => [`reconciliation_${assetId}`, { ok, detail }] as const)
  return { ...Object.fromEntries([...chains, ...assets]), ...(await axonChecks(axon)) }
}

async function axonChecks({
  status,
  report,
}: Payments['axon']): Promise<Record<string, { ok: boolean; detail?: string }>> {
  const now = status()
  if (!now) return {}
  const compared = await report().catch(() => undefined)
  return {
    axon: { ok: now.usable, detail: now.trouble ?? 'quotes are made' },
    ...(compared && { reconciliation_axon: { ok: compared.ok, detail: compared.detail } }),
  }
}
