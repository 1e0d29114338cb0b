import { heldCall, openCallAs } from '../../billing/calls/lifecycle.ts'
import type { Tx } from '../../db/database.ts'
import type { TaskState } from '../../db/schema.ts'
import { assert } from '../../kernel/assert.ts'
import type { Caller } from '../../kernel/caller.ts'
import { Fault } from '../../kernel/errors.ts'
import type { JsonObject } from '../../providers/provider.ts'
import type { TaskDeps } from './deps.ts'
import { taskIdOf, uuidOf } from './ids.ts'
import { holdOf, priceRow, type TaskPrice } from './price.ts'
import { presented } from './result.ts'
import type { Upload } from './runner.ts'
import { isFinal, table } from './states.ts'
import * as store from './store.ts'
import { taskView } from './view.ts'
import { ended, settle } from './working/ending.ts'
import { decide, newestAttempt } from './working/store.ts'

/** A task that somebody wants to be made. */
export interface NewTask {
  readonly caller: Caller
  readonly requestId: string
  /** The name of the runner that does the work. */
  readonly runner: string
  /** `image`, `video`, or what a capability calls its tasks. */
  readonly type: string
  /** The model; for capabilities their slug. What statements name as bought. */
  readonly model: string
  readonly capability?: { readonly slug: string; readonly version: string }
  /** What the client asked for, as it may be read back, and as the runner gets it. */
  readonly request: JsonObject
  readonly uploads: readonly Upload[]
  readonly price: TaskPrice
  readonly etaSeconds: number
  /** From the submission on; later its money is unknown and the task goes on. */
  readonly timeoutMs: number
  readonly webhookUrl: string | undefined
  /** Runs in the transaction that makes the task real: what must be durable together with it. */
  readonly alongside?: (tx: Tx, task: store.TaskRow) => Promise<void>
}

/**
 * Makes a task: its row first, then its hold, then both are real, and only then is it answered (decisions 5).
 * Refuses as openCall does; nothing is left of it then. A process that ends in between leaves a row that the sweep
 * gives up, with whatever was held for it.
 */
export async function createTask(deps: TaskDeps, wanted: NewTask): Promise<store.TaskRow> {
  const { db, ledger } = deps
  const id = deps.random.uuid()
  const holdId = await ledger.nextHoldId()
  const price = priceRow(wanted.price)
  const reserveMicro = holdOf(wanted.price)
  const row: store.NewTaskRow = {
    id,
    accountId: wanted.caller.accountId,
    requestId: wanted.requestId,
    holdId,
    runner: wanted.runner,
    type: wanted.type,
    model: wanted.model,
    capabilitySlug: wanted.capability?.slug ?? '',
    capabilityVersion: wanted.capability?.version ?? '',
    request: wanted.request,
    price,
    reserveMicro,
    etaSeconds: wanted.etaSeconds,
    timeoutMs: wanted.timeoutMs,
    webhookUrl: wanted.webhookUrl,
  }
  const { unheldMs } = deps.pace
  if (wanted.uploads.length === 0) await store.insert(db, row, [], unheldMs)
  else await db.transaction().execute((tx) => store.insert(tx, row, wanted.uploads, unheldMs))
  try {
    await openCallAs(deps, holdId, {
      caller: wanted.caller,
      requestId: wanted.requestId,
      category: wanted.type,
      subject: wanted.model,
      wantedMicro: reserveMicro,
      minimumMicro: reserveMicro,
      detail: { price },
      detached: true,
    })
  } catch (error) {
    // what can still become held is released by whoever holds it; a row that stays is swept
    await store.forget(db, id).catch((cause: unknown) => deps.onTrouble('a refused task is left to the sweep', cause))
    throw error
  }
  const { alongside } = wanted
  const task = alongside
    ? await db.transaction().execute(async (tx) => {
        const held = await store.markHeld(tx, id)
        if (held) await alongside(tx, held)
        return held
      })
    : await store.markHeld(db, id)
  if (!task) {
    await heldCall(ledger, holdId).release()
    throw new Fault('unavailable', { retryAfterMs: 1000 })
  }
  deps.wake()
  return task
}

/** Glances at a task of this account. Refuses with `task_not_found` and, for another account's, `not_original_account`. */
export async function glanceAt(
  glance: (uuid: string) => Promise<store.TaskGlance | undefined>,
  caller: Pick<Caller, 'accountId'>,
  taskId: string,
): Promise<store.TaskGlance> {
  const uuid = uuidOf(taskId)
  const found = uuid === undefined ? undefined : await glance(uuid)
  if (!found) throw new Fault('task_not_found')
  if (found.account_id !== caller.accountId) throw new Fault('not_original_account')
  return found
}

/** What reading tasks needs. */
export type ReadDeps = Pick<TaskDeps, 'db' | 'clock' | 'runners' | 'resultLifeMs' | 'webhookDeliveries'>

/** A whole task as its account reads it. Its right to read it was checked by `glanceAt`. */
export async function readTask(deps: ReadDeps, uuid: string) {
  const task = await store.read(deps.db, uuid)
  if (!task) throw new Fault('task_not_found')
  const [view] = await shown(deps, [task])
  assert(view, 'one task is shown as one')
  return view
}

/** This account's tasks, newest first, one more than `limit` where there are more. Refuses a cursor that is no task id. */
export async function listTasks(
  deps: ReadDeps,
  which: {
    readonly accountId: bigint
    readonly cursor: string | undefined
    readonly type: string | undefined
    readonly state: TaskState | undefined
    readonly limit: number
  },
) {
  const before = which.cursor === undefined ? undefined : uuidOf(which.cursor)
  if (which.cursor !== undefined && before === undefined)
    throw new Fault('invalid_parameter', {
      message: 'The parameter cursor is no task id: pass the next_cursor of the page before.',
    })
  const rows = await store.list(deps.db, { ...which, before, limit: which.limit + 1 })
  const tasks = await shown(deps, rows.slice(0, which.limit))
  return { tasks, more: rows.length > which.limit }
}

/** Rows as their reader sees them, with links that work for a while from the end of each on. */
async function shown(deps: ReadDeps, tasks: readonly store.ReadTask[]) {
  const told = tasks.filter((task) => task.webhook_url !== null && task.completed_at !== null)
  const deliveries = await deps.webhookDeliveries(told.map(({ id }) => taskIdOf(id)))
  return Promise.all(
    tasks.map(async (task) =>
      taskView(task, await presented(deps, task), deps.clock.now(), deliveries.get(taskIdOf(task.id))),
    ),
  )
}

/**
 * Cancels a task (decisions 6); the same again changes nothing, and neither does one that comes after the end.
 * Before a provider has it, that is its end and everything held is released. Afterwards the provider is asked to
 * stop, and what it charges is charged. Refuses as glanceAt does.
 */
export async function cancelTask(deps: TaskDeps, caller: Pick<Caller, 'accountId'>, taskId: string): Promise<string> {
  const uuid = uuidOf(taskId)
  const decided = await deps.db.transaction().execute(async (tx) => {
    const task = uuid === undefined ? undefined : await store.lock(tx, uuid)
    if (!task) throw new Fault('task_not_found')
    if (task.account_id !== caller.accountId) throw new Fault('not_original_account')
    if (task.end_state !== null) return undefined
    const attempt = await newestAttempt(tx, task.id)
    const isAtProvider = attempt !== undefined && attempt.state !== 'refused'
    const step = table[isAtProvider ? 'cancel' : 'withdraw'][task.state]
    if (step === 'canceled') return decide(tx, ended(deps, task), { state: 'canceled', actualMicro: 0n })
    if (!isFinal(task.state) && task.cancel_requested_at === null) await store.requestCancel(tx, task.id)
    return undefined
  })
  if (decided) await settle(deps, decided)
  deps.waiting.moved(uuid ?? '')
  deps.wake()
  return uuid ?? ''
}

/** As many tasks are blanked in one go. */
const FORGET_BATCH = 500

/**
 * Forgets the content of tasks whose results have expired: what was asked for, prompts among it, and results that are
 * no files. All else of a task stays.
 */
export async function forgetOldContent({
  db,
  clock,
  resultLifeMs,
  runners,
}: Pick<TaskDeps, 'db' | 'clock' | 'resultLifeMs' | 'runners'>): Promise<void> {
  const before = new Date(clock.now().getTime() - resultLifeMs)
  const withContent = Object.keys(runners).filter((name) => runners[name]?.keepsContent)
  while ((await store.forgetContent(db, { before, withContent, limit: FORGET_BATCH })) === FORGET_BATCH);
}
