import { heldCall } from '../../../billing/calls/lifecycle.ts'
import type { TaskDeps } from '../deps.ts'
import { forget, type TaskRow } from '../store.ts'
import { abandon, holdStanding } from './store.ts'

/** A hold that was sent may be committed late; after this nothing is on its way any more. */
const LATE_HOLD_MS = 24 * 3_600_000
const LOOK_AGAIN_MS = 600_000

/**
 * A task whose process ended before it was held, or answered: nobody knows it, so nothing of it may be charged. It is
 * given up first, so that it cannot become real meanwhile; then a hold that is there, or comes late, is released.
 */
export async function sweepUnheld(deps: TaskDeps, task: TaskRow, now: Date): Promise<number> {
  // an end is decided: it was given up in an earlier round
  if (task.end_state === null && !(await abandon(deps.db, task.id))) return 0
  const standing = await holdStanding(deps.db, task.hold_id)
  if (standing === 'open') await heldCall(deps.ledger, task.hold_id).release()
  if (standing !== 'none' || now.getTime() - task.created_at.getTime() > LATE_HOLD_MS) {
    await forget(deps.db, task.id)
    return 0
  }
  return LOOK_AGAIN_MS
}
