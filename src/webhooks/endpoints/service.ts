import type { Database, Tx } from '../../db/database.ts'
import { recordAction } from '../../identity/audit-log/service.ts'
import { assert } from '../../kernel/assert.ts'
import type { Clock } from '../../kernel/clock.ts'
import { Fault } from '../../kernel/errors.ts'
import { type AddressSettings, checkedWebhookUrl } from '../address.ts'
import type { SecretBox } from '../secret.ts'
import * as store from './store.ts'

/** What the endpoints of an account need from outside. */
export interface EndpointDeps {
  readonly db: Database
  readonly clock: Clock
  readonly secrets: SecretBox
  readonly addresses: AddressSettings
}

/** One of an account's endpoints, and the request that asks for something to be done to it. */
export interface Named {
  readonly accountId: bigint
  readonly id: bigint
  readonly requestId: string
}

/** How many endpoints an account may have. */
export const ENDPOINTS_MAX = 20

/** Makes an endpoint. Its secret is in this answer and nowhere else. Refuses with `invalid_field`, `too_many_webhooks`. */
export async function createEndpoint(
  deps: EndpointDeps,
  wanted: { accountId: bigint; url: string; events: readonly string[]; description: string; requestId: string },
): Promise<{ endpoint: store.Endpoint; secret: string }> {
  const { accountId, description } = wanted
  const url = checkedWebhookUrl(wanted.url, deps.addresses, 'url')
  const { secret, sealed } = deps.secrets.create(accountId)
  const endpoint = await deps.db.transaction().execute(async (tx) => {
    await store.lockAccount(tx, accountId)
    if ((await store.list(tx, accountId)).length >= ENDPOINTS_MAX) throw new Fault('too_many_webhooks')
    const at = deps.clock.now()
    const events = [...new Set(wanted.events)]
    const made = await store.insert(tx, { accountId, url, events, description, sealedSecret: sealed, at })
    await recordAction(tx, {
      ...by(wanted),
      action: 'create.webhook',
      targetId: made.id,
      after: { account_id: Number(accountId), host: new URL(url).host, events },
    })
    return made
  })
  return { endpoint, secret }
}

/** An endpoint's new members; what is not named stays. */
export interface EndpointChange {
  readonly url?: string | undefined
  readonly events?: readonly string[] | undefined
  readonly description?: string | undefined
  readonly enabled?: boolean | undefined
}

/** Changes an endpoint, or turns it off and on. Off cancels what waits for it. Refuses with `webhook_not_found`, `invalid_field`. */
export async function changeEndpoint(
  deps: EndpointDeps,
  which: Named,
  wanted: EndpointChange,
): Promise<store.Endpoint> {
  const url = wanted.url === undefined ? undefined : checkedWebhookUrl(wanted.url, deps.addresses, 'url')
  return deps.db.transaction().execute(async (tx) => {
    const before = await locked(tx, which)
    const at = deps.clock.now()
    await store.change(
      tx,
      before.id,
      {
        ...(url === undefined ? {} : { url }),
        ...(wanted.events === undefined ? {} : { events: [...new Set(wanted.events)] }),
        ...(wanted.description === undefined ? {} : { description: wanted.description }),
      },
      at,
    )
    if (wanted.enabled === true && before.disabled_at !== null) await store.enable(tx, before.id, at)
    if (wanted.enabled === false && before.disabled_at === null) await store.disable(tx, before.id, 'account', at)
    const after = await locked(tx, which)
    await recordAction(tx, {
      ...by(which),
      action: 'change.webhook',
      targetId: before.id,
      before: recorded(before),
      after: recorded(after),
    })
    return after
  })
}

/** Removes an endpoint with its delivery log. Refuses with `webhook_not_found`. */
export async function removeEndpoint(deps: EndpointDeps, which: Named): Promise<void> {
  await deps.db.transaction().execute(async (tx) => {
    if (!(await store.remove(tx, which))) throw new Fault('webhook_not_found')
    await recordAction(tx, { ...by(which), action: 'remove.webhook', targetId: which.id })
  })
}

/**
 * Gives an endpoint a new secret, shown once. The one before signs beside it for `overlapSeconds`; one from before that
 * ends now. Refuses with `webhook_not_found`.
 */
export async function rotateSecret(
  deps: EndpointDeps,
  which: Named,
  overlapSeconds: number,
): Promise<{ endpoint: store.Endpoint; secret: string }> {
  const { secret, sealed } = deps.secrets.create(which.accountId)
  const endpoint = await deps.db.transaction().execute(async (tx) => {
    const { id } = await locked(tx, which)
    const at = deps.clock.now()
    await store.rotate(tx, id, sealed, new Date(at.getTime() + overlapSeconds * 1000), at)
    await recordAction(tx, { ...by(which), action: 'rotate.webhook_secret', targetId: id })
    return locked(tx, which)
  })
  return { endpoint, secret }
}

/** The same for the account's secret that deliveries to URLs of tasks are signed with; the first call makes it known. */
export async function rotateTaskSecret(
  deps: EndpointDeps,
  who: { accountId: bigint; requestId: string },
  overlapSeconds: number,
): Promise<{ row: store.TaskSecret; secret: string }> {
  const { accountId } = who
  const { secret, sealed } = deps.secrets.create(accountId)
  const row = await deps.db.transaction().execute(async (tx) => {
    const at = deps.clock.now()
    const previousUntil = new Date(at.getTime() + overlapSeconds * 1000)
    const rotated = await store.rotateTaskSecret(tx, { accountId, sealed, previousUntil, at })
    await recordAction(tx, { ...by(who), action: 'rotate.webhook_task_secret', targetId: accountId })
    return rotated
  })
  return { row, secret }
}

/** The secrets that sign now, the newest first, from a row that holds them sealed. Throws when the pepper is another one. */
export function signingSecrets(
  secrets: SecretBox,
  row: {
    readonly account_id: bigint
    readonly sealed_secret: Buffer | null
    readonly previous_sealed_secret: Buffer | null
    readonly previous_signs_until: Date | null
  },
  now: Date,
): string[] {
  const overlaps = row.previous_signs_until !== null && row.previous_signs_until > now
  const sealed = [row.sealed_secret, overlaps ? row.previous_sealed_secret : null].filter((one) => one !== null)
  const opened = sealed.map((one) => secrets.open(one, row.account_id)).filter((one) => one !== undefined)
  assert(
    opened.length === sealed.length && opened.length > 0,
    'a webhook secret was sealed under another key pepper: all servers of one database share one FAREBOX_KEY_PEPPER',
  )
  return opened
}

async function locked(tx: Tx, which: Named): Promise<store.Endpoint> {
  const endpoint = await store.lock(tx, which)
  if (!endpoint) throw new Fault('webhook_not_found')
  return endpoint
}

const by = ({ accountId, requestId }: { accountId: bigint; requestId: string }) => ({
  actor: { kind: 'account' as const, id: accountId },
  requestId,
})

/** The host alone: paths and queries of webhooks may be secrets. */
const recorded = (row: store.Endpoint) => ({
  host: new URL(row.url).host,
  events: row.events,
  enabled: row.disabled_at === null,
})
