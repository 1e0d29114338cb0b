import { Gauge, type Registry } from 'prom-client'
import type { queue } from '../payments/orders/review/store.ts'
import type { ChainStatus } from '../payments/watcher/status.ts'

/** How payments stand, by asset and by chain. */
export interface PaymentsSampled {
  readonly reports: () => Promise<ReadonlyArray<{ assetId: string; ok: boolean; drift: bigint; at: Date | undefined }>>
  readonly status: () => readonly ChainStatus[]
  /** What waits for an operator. */
  readonly queue: () => ReturnType<typeof queue>
  readonly now: () => Date
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
