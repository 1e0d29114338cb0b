import type { JsonObject } from '../../providers/provider.ts'
import type { TaskDeps } from './deps.ts'
import type { TaskRow } from './store.ts'

/** A task's result as its runner presents it, with links that work for `resultLifeMs` from its end on; empty until there is one. */
export async function presented(
  { runners, resultLifeMs }: Pick<TaskDeps, 'runners' | 'resultLifeMs'>,
  task: TaskRow,
): Promise<JsonObject> {
  if (task.state !== 'success' || task.result === null || task.completed_at === null) return {}
  const until = new Date(task.completed_at.getTime() + resultLifeMs)
  const result = task.result as JsonObject
  return (await runners[task.runner]?.present(result, until)) ?? result
}
