import { Counter, Gauge, type Registry } from 'prom-client'

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
  const attempts = new Counter({
    name: 'farebox_webhook_attempts_total',
    help: 'Attempts to deliver events',
    labelNames: ['outcome'],
    registers: [registry],
  })
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
