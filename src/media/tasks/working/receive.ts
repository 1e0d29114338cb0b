import type { TaskDeps } from '../deps.ts'
import { asked, stand } from './steps.ts'
import * as store from './store.ts'

/**
 * Takes what a place reported of an attempt. What it says is durable when this resolves; true when it was authentic
 * and of this attempt, also when it was no news.
 */
export async function receive(
  deps: TaskDeps,
  attemptId: string,
  callback: { readonly headers: Readonly<Record<string, string | undefined>>; readonly body: Uint8Array },
): Promise<boolean> {
  const found = await store.attempt(deps.db, attemptId)
  const runner = found && deps.runners[found.task.runner]
  if (!found || !runner) return false
  const { task, attempt, now } = found
  const news = await runner.readCallback(asked(task, attempt), callback)
  if (!news) return false
  if (attempt.provider_job_id !== null && attempt.provider_job_id !== news.providerJobId) return false
  if (task.end_state !== null || attempt.state === 'refused' || attempt.state === 'ended') return true
  // a submission whose answer was lost is found by this
  await store.moveAttempt(deps.db, attempt.id, ['intended', 'lost'], {
    state: 'accepted',
    provider_job_id: news.providerJobId,
  })
  await stand(deps, { task, attempt, runner, now }, news.standing)
  return true
}
