import type { JsonObject } from '../../providers/provider.ts'
import { RESULT_LIFE_MS, type TaskDeps } from './deps.ts'
import type { TaskRow } from './store.ts'

/** A task's result as its runner presents it, with links that work for RESULT_LIFE_MS from its end on; empty until there is one. */
export async function presented(runners: TaskDeps['runners'], task: TaskRow): Promise<JsonObject> {
  if (task.state !== 'success' || task.result === null || task.completed_at === null) return {}
  const until = new Date(task.completed_at.getTime() + RESULT_LIFE_MS)
  const result = task.result as JsonObject
  return (await runners[task.runner]?.present(result, until)) ?? result
}
