import type { Database } from '../db/database.ts'
import type { WebhookDescription } from '../http/openapi-webhooks.ts'
import type { GuardedFetch } from '../net/guarded-fetch.ts'
import type { AddressSettings } from '../webhooks/address.ts'
import { bodySchema } from '../webhooks/body.ts'
import { type TaskDelivery, taskDeliveries } from '../webhooks/deliveries/service.ts'
import { type EventName, eventTypes } from '../webhooks/event-types.ts'
import { type SecretBox, secretBox } from '../webhooks/secret.ts'
import { backlog } from '../webhooks/sending/outbox/store.ts'
import { startSending } from '../webhooks/sending/worker.ts'
import { type Metrics, webhookMetrics } from './metrics.ts'
import type { Surroundings } from './server-surroundings.ts'

/** Webhooks as this process delivers them. */
export interface Webhooks {
  readonly secrets: SecretBox
  readonly addresses: AddressSettings
  /** How the deliveries of finished tasks to the URLs that came with them stand, by task id. */
  taskDeliveries(taskIds: readonly string[]): Promise<ReadonlyMap<string, TaskDelivery>>
  /** Ends the deliveries of this process; nothing of it runs afterwards. */
  stop(): Promise<void>
}

/** How often the outbox is looked at. */
const pollMs = { production: 1_000, development: 200 } as const

/** What receivers have to answer within. Well below the lease of an attempt. */
const TIMEOUT_MS = 15_000

/** Begins to deliver events. */
export function openWebhooks(
  { config, clock, random, logger, pepper }: Surroundings,
  own: {
    db: Database
    guarded: GuardedFetch
    metrics: Metrics
    onTrouble: (message: string, error: unknown) => void
  },
): Webhooks {
  const secrets = secretBox({ pepper, random })
  const { attempted } = webhookMetrics(own.metrics.registry, async () => {
    const now = clock.now()
    const { events, deliveries, dueSince } = await backlog(own.db, now)
    return { events, deliveries, lagSeconds: dueSince === null ? 0 : (now.getTime() - dueSince.getTime()) / 1000 }
  })
  const sending = startSending({
    ...own,
    clock,
    random,
    secrets,
    timeoutMs: TIMEOUT_MS,
    pollMs: pollMs[config.mode],
    onAttempt: attempted,
    onDisabled: (endpointId, reason) =>
      logger.warn({ endpoint_id: Number(endpointId), reason }, 'a webhook endpoint was disabled'),
  })
  const { allowedNetworks } = config.outgoing
  return {
    secrets,
    addresses: { allowedNetworks, plainHttp: allowedNetworks.length > 0 },
    taskDeliveries: (taskIds) => taskDeliveries(own, taskIds),
    stop: sending.stop,
  }
}

/** Every type of event for the OpenAPI document. */
export const webhookDescriptions: readonly WebhookDescription[] = (Object.keys(eventTypes) as EventName[]).map(
  (name) => ({ name, summary: eventTypes[name].description, body: bodySchema(name) }),
)
