import { type Selectable, sql } from 'kysely'
import type { Database, Tx } from '../../db/database.ts'
import type { WebhookDisabledReason, WebhookEndpoints, WebhookTaskSecrets } from '../../db/schema.ts'
import { stateAfter } from '../delivery-states.ts'

/** An endpoint with its sealed secrets. */
export type Endpoint = Selectable<WebhookEndpoints>
/** The account's secret for URLs that come with tasks. */
export type TaskSecret = Selectable<WebhookTaskSecrets>

/** The account's endpoints, oldest first. */
export async function list(db: Database | Tx, accountId: bigint): Promise<Endpoint[]> {
  return db
    .selectFrom('webhook_endpoints')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('kind', '=', 'registered')
    .orderBy('id')
    .execute()
}

/** One of the account's endpoints. */
export async function find(db: Database | Tx, which: { accountId: bigint; id: bigint }): Promise<Endpoint | undefined> {
  return one(db, which).executeTakeFirst()
}

/** The same, its row locked until the transaction ends. */
export async function lock(tx: Tx, which: { accountId: bigint; id: bigint }): Promise<Endpoint | undefined> {
  return one(tx, which).forNoKeyUpdate().executeTakeFirst()
}

const one = (db: Database | Tx, { accountId, id }: { accountId: bigint; id: bigint }) =>
  db
    .selectFrom('webhook_endpoints')
    .selectAll()
    .where('id', '=', id)
    .where('account_id', '=', accountId)
    .where('kind', '=', 'registered')

/** Makes whoever adds an endpoint to the account wait for the others who do. */
export async function lockAccount(tx: Tx, accountId: bigint): Promise<void> {
  await tx.selectFrom('accounts').select('id').where('id', '=', accountId).forNoKeyUpdate().execute()
}

/** Stores a new endpoint. */
export async function insert(
  tx: Tx,
  endpoint: {
    accountId: bigint
    url: string
    events: readonly string[]
    description: string
    sealedSecret: Buffer
    at: Date
  },
): Promise<Endpoint> {
  return tx
    .insertInto('webhook_endpoints')
    .values({
      account_id: endpoint.accountId,
      url: endpoint.url,
      events: [...endpoint.events],
      description: endpoint.description,
      sealed_secret: endpoint.sealedSecret,
      created_at: endpoint.at,
      updated_at: endpoint.at,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** What of an endpoint can be changed. */
export interface EndpointChange {
  readonly url?: string
  readonly events?: string[]
  readonly description?: string
}

/** Changes a locked endpoint. */
export async function change(tx: Tx, id: bigint, members: EndpointChange, at: Date): Promise<void> {
  await tx
    .updateTable('webhook_endpoints')
    .set({ ...members, updated_at: at })
    .where('id', '=', id)
    .execute()
}

/** Lets a locked endpoint hear of events again, with a clean record. */
export async function enable(tx: Tx, id: bigint, at: Date): Promise<void> {
  await tx
    .updateTable('webhook_endpoints')
    .set({
      disabled_at: null,
      disabled_reason: null,
      failing_since: null,
      consecutive_failures: 0,
      updated_at: at,
    })
    .where('id', '=', id)
    .execute()
}

/** Disables an enabled endpoint and cancels what waits for it. False: it was disabled before. */
export async function disable(tx: Tx, id: bigint, reason: WebhookDisabledReason, at: Date): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('webhook_endpoints')
    .set({ disabled_at: at, disabled_reason: reason, updated_at: at })
    .where('id', '=', id)
    .where('disabled_at', 'is', null)
    .executeTakeFirst()
  await tx
    .updateTable('webhook_deliveries')
    .set({
      state: stateAfter('cancel', 'pending'),
      finished_at: at,
      leased_until: null,
      last_outcome: 'endpoint_disabled',
    })
    .where('endpoint_id', '=', id)
    .where('state', '=', 'pending')
    .execute()
  return numUpdatedRows > 0n
}

/** Removes an endpoint with its log. False: there is none. */
export async function remove(tx: Tx, which: { accountId: bigint; id: bigint }): Promise<boolean> {
  const { numDeletedRows } = await tx
    .deleteFrom('webhook_endpoints')
    .where('id', '=', which.id)
    .where('account_id', '=', which.accountId)
    .where('kind', '=', 'registered')
    .executeTakeFirst()
  return numDeletedRows > 0n
}

/** A new secret for a locked endpoint; the one before signs too until `previousUntil`. */
export async function rotate(tx: Tx, id: bigint, sealed: Buffer, previousUntil: Date, at: Date): Promise<void> {
  await tx
    .updateTable('webhook_endpoints')
    .set({
      previous_sealed_secret: sql<Buffer>`sealed_secret`,
      previous_signs_until: previousUntil,
      sealed_secret: sealed,
      updated_at: at,
    })
    .where('id', '=', id)
    .execute()
}

/** The account's secret for URLs of tasks. */
export async function taskSecret(db: Database | Tx, accountId: bigint): Promise<TaskSecret | undefined> {
  return db.selectFrom('webhook_task_secrets').selectAll().where('account_id', '=', accountId).executeTakeFirst()
}

/** Stores the account's first secret for URLs of tasks, unless there is one. */
export async function insertTaskSecret(
  db: Database | Tx,
  secret: { accountId: bigint; sealed: Buffer; at: Date },
): Promise<void> {
  await db
    .insertInto('webhook_task_secrets')
    .values({ account_id: secret.accountId, sealed_secret: secret.sealed, created_at: secret.at })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/** A new secret for URLs of tasks; the one before, if there is one, signs too until `previousUntil`. */
export async function rotateTaskSecret(
  tx: Tx,
  secret: { accountId: bigint; sealed: Buffer; previousUntil: Date; at: Date },
): Promise<TaskSecret> {
  return tx
    .insertInto('webhook_task_secrets')
    .values({ account_id: secret.accountId, sealed_secret: secret.sealed, created_at: secret.at })
    .onConflict((conflict) =>
      conflict.column('account_id').doUpdateSet({
        previous_sealed_secret: sql<Buffer>`webhook_task_secrets.sealed_secret`,
        previous_signs_until: secret.previousUntil,
        sealed_secret: secret.sealed,
        created_at: secret.at,
      }),
    )
    .returningAll()
    .executeTakeFirstOrThrow()
}
