import { type Selectable, sql } from 'kysely'
import type { Database, Tx } from '../../../db/database.ts'
import type { TaskAttempts, TaskState } from '../../../db/schema.ts'
import { taskIdOf } from '../ids.ts'
import type { Place, Upload } from '../runner.ts'
import type { TaskRow } from '../store.ts'

/** An attempt as the database keeps it. */
export type AttemptRow = Selectable<TaskAttempts>

/** A task that this process works on, with its newest attempt. */
export interface Claimed {
  readonly task: TaskRow
  readonly attempt: AttemptRow | undefined
  /** By the database's clock. */
  readonly now: Date
}

const later = (ms: number) => sql<Date>`now() + make_interval(secs => ${ms / 1000})`

/** Takes tasks that are due and that no live process works on, oldest first, for `leaseMs`. */
export async function claim(
  db: Database,
  { processId, limit, leaseMs }: { processId: bigint; limit: number; leaseMs: number },
): Promise<Claimed[]> {
  const { rows } = await sql<TaskRow & { now: Date; attempt: AttemptRow | null }>`
    with due as (
      select id from tasks
      where completed_at is null and ((due_at <= now() and lease_until is null) or lease_until < now())
      order by due_at limit ${limit} for update skip locked
    ), taken as (
      update tasks t set lease_process = ${processId}, lease_until = ${later(leaseMs)}, due_at = 'infinity'
      from due where t.id = due.id returning t.*
    )
    select taken.*, now() as now, to_json(a.*) as attempt
    from taken left join lateral (select * from task_attempts a where a.task_id = taken.id order by a.n desc limit 1) a on true`.execute(
    db,
  )
  return rows.map(({ now, attempt, ...task }) => ({ task, now, attempt: attempt ? fromJson(attempt) : undefined }))
}

/** to_json writes times as text. */
const fromJson = (row: AttemptRow): AttemptRow => ({
  ...row,
  submitted_at: new Date(row.submitted_at),
  ended_at: row.ended_at && new Date(row.ended_at),
  cancel_asked_at: row.cancel_asked_at && new Date(row.cancel_asked_at),
})

/** Keeps the leases of work that takes long. */
export async function renew(
  db: Database,
  { processId, ids, leaseMs }: { processId: bigint; ids: readonly string[]; leaseMs: number },
): Promise<void> {
  await db
    .updateTable('tasks')
    .set({ lease_until: later(leaseMs) })
    .where('id', '=', sql<string>`any(${ids}::uuid[])`)
    .where('lease_process', '=', processId)
    .execute()
}

/** Gives back what a process that is gone had taken, so that others need not wait for its leases to run out. */
export async function freeLeasesOf(db: Database, processId: bigint): Promise<void> {
  await db
    .updateTable('tasks')
    .set({ lease_process: null, lease_until: null, due_at: sql<Date>`now()` })
    .where('lease_process', '=', processId)
    .where('lease_until', 'is not', null)
    .execute()
}

/** Gives a task back until it is due again: after this, or when somebody wanted it meanwhile. */
export async function release(
  db: Database,
  { processId, id, afterMs }: { processId: bigint; id: string; afterMs: number },
): Promise<void> {
  await db
    .updateTable('tasks')
    .set({ lease_process: null, lease_until: null, due_at: sql<Date>`least(due_at, ${later(afterMs)})` })
    .where('id', '=', id)
    .where('lease_process', '=', processId)
    .execute()
}

/** The newest attempt of a task. */
export function newestAttempt(db: Database | Tx, taskId: string): Promise<AttemptRow | undefined> {
  return db
    .selectFrom('task_attempts')
    .selectAll()
    .where('task_id', '=', taskId)
    .orderBy('n', 'desc')
    .limit(1)
    .executeTakeFirst()
}

/** An attempt with its task. */
export async function attempt(
  db: Database,
  id: string,
): Promise<{ readonly task: TaskRow; readonly attempt: AttemptRow; readonly now: Date } | undefined> {
  const found = await db
    .selectFrom('task_attempts')
    .selectAll()
    .select(sql<Date>`now()`.as('now'))
    .where('id', '=', id)
    .executeTakeFirst()
  if (!found) return undefined
  const { now, ...attempt } = found
  const task = await db.selectFrom('tasks').selectAll().where('id', '=', attempt.task_id).executeTakeFirstOrThrow()
  return { task, attempt, now }
}

/** Writes that a provider is about to be asked. A second open attempt of a task violates a unique key. */
export function intend(
  tx: Tx,
  intent: { readonly id: string; readonly taskId: string; readonly n: number; readonly place: Place },
): Promise<AttemptRow> {
  return tx
    .insertInto('task_attempts')
    .values({
      id: intent.id,
      task_id: intent.taskId,
      n: intent.n,
      provider: intent.place.provider,
      model: intent.place.model,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** Notes how an attempt stands. Only an attempt in one of `from` moves; false when it had moved on. */
export async function moveAttempt(
  db: Database | Tx,
  id: string,
  from: readonly AttemptRow['state'][],
  change: Partial<
    Pick<
      AttemptRow,
      'state' | 'provider_job_id' | 'provider_memo' | 'message' | 'retry_after_ms' | 'retryable' | 'status'
    >
  > & { readonly ended?: boolean },
): Promise<boolean> {
  const { ended, message, ...columns } = change
  const { numUpdatedRows } = await db
    .updateTable('task_attempts')
    .set({
      ...columns,
      ...(message === undefined || message === null ? {} : { message: storable(message) }),
      ...(ended ? { ended_at: sql<Date>`now()` } : {}),
    })
    .where('id', '=', id)
    .where('state', 'in', [...from])
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Notes that a provider was asked to stop; false when it was noted before. */
export async function noteCancelAsked(db: Database, id: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('task_attempts')
    .set({ cancel_asked_at: sql<Date>`now()` })
    .where('id', '=', id)
    .where('cancel_asked_at', 'is', null)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** What a reader can see of a task that is not ended. */
export async function show(
  db: Database | Tx,
  id: string,
  change: { readonly state?: TaskState; readonly progress?: number; readonly unknown?: boolean },
): Promise<void> {
  const { unknown, ...columns } = change
  await db
    .updateTable('tasks')
    .set({
      ...columns,
      ...(unknown ? { unknown_at: sql<Date>`coalesce(unknown_at, now())` } : {}),
      updated_at: sql<Date>`now()`,
      version: sql<number>`version + 1`,
    })
    .where('id', '=', id)
    .where('end_state', 'is', null)
    .execute()
}

/** How a task ends. `actualMicro` undefined: what it cost cannot be known. */
export interface End {
  readonly state: 'success' | 'fail' | 'canceled'
  readonly actualMicro: bigint | undefined
  readonly usage?: object | undefined
  readonly result?: object | undefined
  readonly error?: { readonly code: string; readonly message: string } | undefined
}

/** Decides how a locked task ends, before its money is moved. `request`: what is still kept of it. */
export async function decide(tx: Tx, { id, request }: { id: string; request: object }, end: End): Promise<TaskRow> {
  return tx
    .updateTable('tasks')
    .set({
      request: JSON.stringify(request),
      end_state: end.state,
      end_micro: end.actualMicro ?? null,
      end_usage: end.usage === undefined ? null : JSON.stringify(end.usage),
      result: end.result === undefined ? null : JSON.stringify(end.result),
      error_code: end.error ? storable(end.error.code) : null,
      error_message: end.error ? storable(end.error.message) : null,
      due_at: sql<Date>`now()`,
    })
    .where('id', '=', id)
    .where('end_state', 'is', null)
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** Ends a task whose money is settled; undefined when another process has done so. */
export async function complete(tx: Tx, id: string): Promise<TaskRow | undefined> {
  const done = await tx
    .updateTable('tasks')
    .set({
      state: sql<TaskState>`end_state`,
      progress: sql<number>`case when end_state = 'success' then 100 else progress end`,
      completed_at: sql<Date>`now()`,
      updated_at: sql<Date>`now()`,
      version: sql<number>`version + 1`,
      lease_process: null,
      lease_until: null,
    })
    .where('id', '=', id)
    .where('completed_at', 'is', null)
    .returningAll()
    .executeTakeFirst()
  if (done) await tx.deleteFrom('task_uploads').where('task_id', '=', id).execute()
  return done
}

/** Tells the world later that a task has ended (task.finished), and the owner whose Credits were held for it. */
export async function tell(tx: Tx, task: TaskRow, payload: object): Promise<void> {
  const owner = await tx
    .selectFrom('hold_allocations')
    .select('payer_account_id')
    .where('hold_id', '=', task.hold_id)
    .where('payer_account_id', '<>', task.account_id)
    .limit(1)
    .executeTakeFirst()
  const told = owner ? { ...payload, owner_account_id: Number(owner.payer_account_id) } : payload
  const { id } = await tx
    .insertInto('outbox')
    .values({
      event: 'task.finished',
      account_id: task.account_id,
      object_id: taskIdOf(task.id),
      payload: JSON.stringify(told),
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  await tx.updateTable('tasks').set({ outbox_id: id }).where('id', '=', task.id).execute()
}

/** The files that came with a task, in order. */
export async function uploads(db: Database, taskId: string): Promise<Upload[]> {
  const rows = await db
    .selectFrom('task_uploads')
    .select(['content_type', 'bytes'])
    .where('task_id', '=', taskId)
    .orderBy('n')
    .execute()
  return rows.map((row) => ({ contentType: row.content_type, bytes: row.bytes }))
}

/** Whether a task's hold is there, and whether it has ended. */
export async function holdStanding(db: Database, holdId: bigint): Promise<'none' | 'open' | 'ended'> {
  const row = await db
    .selectFrom('holds')
    .leftJoin('hold_resolutions as r', 'r.hold_id', 'holds.id')
    .select('r.hold_id as ended')
    .where('holds.id', '=', holdId)
    .executeTakeFirst()
  if (!row) return 'none'
  return row.ended === null ? 'open' : 'ended'
}

/** Gives up a task that was never held: from now on it cannot become real. False when it has become so. */
export async function abandon(db: Database, id: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('tasks')
    .set({ end_state: 'canceled' })
    .where('id', '=', id)
    .where('held', '=', false)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Text that PostgreSQL takes: a provider's words may hold what it refuses. */
const storable = (text: string): string => text.slice(0, 500).toWellFormed().replaceAll('\0', '')
