import { Gauge, type Registry } from 'prom-client'
import { countUndone } from '../payments/axon/store.ts'
import type { Axon } from './axon.ts'

/** Gauges of native payments, where a coin is taken. Read only when somebody asks. */
export function sampleAxon(registry: Registry, { deps, status, report }: Axon): void {
  if (!deps.coin) return
  const gauge = (name: string, help: string, read: () => Promise<number>) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      async collect() {
        this.set(await read().catch(() => Number.NaN))
      },
    })
  gauge('farebox_axon_usable', 'Whether quotes can be made', async () => (status()?.usable ? 1 : 0))
  gauge('farebox_axon_rate_age_seconds', 'Age of the newest rate sample', async () => {
    const newest = await deps.rates.newest()
    return newest ? (deps.clock.now().getTime() - newest.observedAt.getTime()) / 1000 : Number.NaN
  })
  gauge(
    'farebox_axon_reconciliation_ok',
    'Whether no more was credited than arrived, and that was looked at lately: must be 1',
    async () => ((await report())?.ok ? 1 : 0),
  )
  gauge(
    'farebox_axon_unclaimed_coins',
    'Coins that arrived and were not credited',
    async () => Number((await report())?.unclaimed ?? 0n) / 1e18,
  )
  new Gauge({
    name: 'farebox_axon_claims',
    help: 'Claimed hashes that are not done, by status',
    labelNames: ['status'],
    registers: [registry],
    async collect() {
      for (const [claimStatus, count] of Object.entries(await countUndone(deps.db).catch(() => ({}))))
        this.set({ status: claimStatus }, count)
    },
  })
}
