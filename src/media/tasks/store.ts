import { type Selectable, sql } from 'kysely'
import type { Database, Tx } from '../../db/database.ts'
import type { TaskState, Tasks } from '../../db/schema.ts'
import type { Upload } from './runner.ts'

/** A task as the database keeps it. */
export type TaskRow = Selectable<Tasks>

/** How a task's money stands, read from the ledger's own rows. */
export interface TaskMoney {
  readonly resolution: 'captured' | 'voided' | null
  readonly actual_micro: bigint | null
  readonly usage_unknown: boolean
}

/** A task with its money. */
export type ReadTask = TaskRow & TaskMoney

/** The little of a task that decides whether a reader has seen it already. */
export interface TaskGlance extends TaskMoney {
  readonly id: string
  readonly account_id: bigint
  readonly version: number
  readonly state: TaskState
  readonly created_at: Date
  readonly has_webhook: boolean
}

/** What a new task's row is made of. */
export interface NewTaskRow {
  readonly id: string
  readonly accountId: bigint
  readonly requestId: string
  readonly holdId: bigint
  readonly runner: string
  readonly type: string
  readonly model: string
  readonly capabilitySlug: string
  readonly capabilityVersion: string
  readonly request: object
  readonly price: object
  readonly reserveMicro: bigint
  readonly etaSeconds: number
  readonly timeoutMs: number
  readonly webhookUrl: string | undefined
}

/** Writes a task whose money is not held yet; nobody sees it. A process that ends before it is held leaves it for the sweep at `sweepAfterMs`. */
export async function insert(
  tx: Database | Tx,
  task: NewTaskRow,
  uploads: readonly Upload[],
  sweepAfterMs: number,
): Promise<void> {
  await tx
    .insertInto('tasks')
    .values({
      id: task.id,
      account_id: task.accountId,
      request_id: task.requestId,
      hold_id: task.holdId,
      runner: task.runner,
      type: task.type,
      model: task.model,
      capability_slug: task.capabilitySlug,
      capability_version: task.capabilityVersion,
      request: JSON.stringify(task.request),
      price: JSON.stringify(task.price),
      reserve_micro: task.reserveMicro,
      eta_seconds: task.etaSeconds,
      timeout_ms: task.timeoutMs,
      webhook_url: task.webhookUrl ?? null,
      due_at: sql<Date>`now() + make_interval(secs => ${sweepAfterMs / 1000})`,
    })
    .execute()
  for (const [n, { contentType, bytes }] of uploads.entries())
    await tx
      .insertInto('task_uploads')
      .values({ task_id: task.id, n, content_type: contentType, bytes: Buffer.from(bytes) })
      .execute()
}

/** Makes a task real, now that its money is held. undefined when the sweep has given it up: its hold is released then. */
export async function markHeld(tx: Database | Tx, id: string): Promise<TaskRow | undefined> {
  return tx
    .updateTable('tasks')
    .set({ held: true, due_at: sql<Date>`now()` })
    .where('id', '=', id)
    .where('held', '=', false)
    .where('end_state', 'is', null)
    .returningAll()
    .executeTakeFirst()
}

/** Forgets a task whose money was refused. */
export async function forget(db: Database, id: string): Promise<void> {
  await db.deleteFrom('tasks').where('id', '=', id).where('held', '=', false).execute()
}

/** The task with its row locked until the transaction ends: what happens to one task happens in order. */
export function lock(tx: Tx, id: string): Promise<TaskRow | undefined> {
  return tx.selectFrom('tasks').selectAll().where('id', '=', id).where('held', '=', true).forUpdate().executeTakeFirst()
}

const moneyColumns = [
  sql<'captured' | 'voided' | null>`r.kind`.as('resolution'),
  sql<bigint | null>`r.actual_micro`.as('actual_micro'),
  sql<boolean>`exists (select from hold_flags f where f.hold_id = t.hold_id and f.flag = 'usage_unknown')`.as(
    'usage_unknown',
  ),
] as const

const readable = (db: Database | Tx) =>
  db.selectFrom('tasks as t').leftJoin('hold_resolutions as r', 'r.hold_id', 't.hold_id').where('t.held', '=', true)

/** One task with everything that its reader sees. */
export function read(db: Database | Tx, id: string): Promise<ReadTask | undefined> {
  return readable(db).selectAll('t').select(moneyColumns).where('t.id', '=', id).executeTakeFirst()
}

/** An account's tasks, newest first; `before`: older than this one. */
export function list(
  db: Database,
  which: {
    readonly accountId: bigint
    readonly before: string | undefined
    readonly type: string | undefined
    readonly state: TaskState | undefined
    readonly limit: number
  },
): Promise<ReadTask[]> {
  let query = readable(db).selectAll('t').select(moneyColumns).where('t.account_id', '=', which.accountId)
  if (which.before !== undefined) query = query.where('t.id', '<', which.before)
  if (which.type !== undefined) query = query.where('t.type', '=', which.type)
  if (which.state !== undefined) query = query.where('t.state', '=', which.state)
  return query.orderBy('t.id', 'desc').limit(which.limit).execute()
}

/** Glances at many tasks in one statement. */
export function glances(db: Database, ids: readonly string[]): Promise<TaskGlance[]> {
  return readable(db)
    .select(['t.id', 't.account_id', 't.version', 't.state', 't.created_at'])
    .select(moneyColumns)
    .select(sql<boolean>`t.webhook_url is not null`.as('has_webhook'))
    .where('t.id', '=', sql<string>`any(${ids}::uuid[])`)
    .execute()
}

/** The client wants the task no more and a provider may have it: a worker asks the provider next. */
export async function requestCancel(tx: Tx, id: string): Promise<void> {
  await tx
    .updateTable('tasks')
    .set({
      cancel_requested_at: sql<Date>`coalesce(cancel_requested_at, now())`,
      due_at: sql<Date>`now()`,
      updated_at: sql<Date>`now()`,
      version: sql<number>`version + 1`,
    })
    .where('id', '=', id)
    .execute()
}

/**
 * Blanks what tasks that ended before this were asked for, and the results of the runners `withContent`, also in what
 * the webhook log would send once more; gives how many. Their reader sees a change.
 */
export async function forgetContent(
  db: Database,
  { before, withContent, limit }: { before: Date; withContent: readonly string[]; limit: number },
): Promise<number> {
  const { rows } = await sql<{ n: number }>`
    with old as (
      select id from tasks where completed_at < ${before} and request <> '{}'
      order by completed_at limit ${limit} for update skip locked
    ), blank as (
      update tasks t set request = '{}', version = version + 1,
        result = case when t.runner = any(${withContent}::text[]) and t.result is not null then '{}' else t.result end
      from old where t.id = old.id
      returning t.outbox_id, t.runner
    ), told as (
      update outbox o set payload = jsonb_set(o.payload, '{result}', '{}')
      from blank where o.id = blank.outbox_id and blank.runner = any(${withContent}::text[])
    )
    select count(*)::int as n from blank`.execute(db)
  return rows[0]?.n ?? 0
}
