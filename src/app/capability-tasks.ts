import { rememberedRequest, runJob } from '../capabilities/jobs.ts'
import type { CreateTask } from '../capabilities/tasks-port.ts'
import { microcredits } from '../kernel/money.ts'
import { webhookUrl } from '../media/request.ts'
import type { TaskRunner } from '../media/tasks/runner.ts'
import { createTask } from '../media/tasks/service.ts'
import { createdView } from '../media/tasks/view.ts'
import type { JsonObject } from '../providers/provider.ts'
import type { Core } from './core.ts'
import type { Media } from './media.ts'

/** The name by which tasks of capabilities find their runner, and what their statements call them. */
const CAPABILITY = 'capability'

/** How long the work of a task is waited for before its money counts as unknown, beyond the upstream's own limit. */
const TASK_TIMEOUT_MS = 24 * 3_600_000

/** How capabilities make tasks: the one place where the two rooms meet. */
export function capabilityTasks({ tasks }: Pick<Media, 'tasks'>): CreateTask {
  return async (wanted) => {
    const task = await createTask(tasks, {
      caller: wanted.caller,
      requestId: wanted.requestId,
      runner: CAPABILITY,
      type: CAPABILITY,
      model: wanted.capabilitySlug,
      capability: { slug: wanted.capabilitySlug, version: wanted.capabilityVersion },
      request: wanted.request,
      uploads: [],
      price: wanted.price,
      etaSeconds: wanted.etaSeconds,
      timeoutMs: TASK_TIMEOUT_MS,
      webhookUrl: webhookUrl(tasks.checkedWebhookUrl, 'webhook_url', wanted.webhookUrl),
    })
    return {
      view: createdView(task, tasks.clock.now()) as JsonObject,
      callId: task.hold_id,
      reserveMicro: microcredits(task.reserve_micro),
    }
  }
}

/** Does the tasks of capabilities: all of the work is one submission, which cannot be found again after a crash. */
export function capabilityRunners(core: Core): Readonly<Record<string, TaskRunner>> {
  const deps = { capabilities: core.offer.capabilities, onInvoked: core.metrics.invoked }
  return {
    [CAPABILITY]: {
      places: ({ model }) => [{ provider: CAPABILITY, model }],
      submit: (work) =>
        runJob(deps, {
          slug: work.model,
          request: work.request,
          accountId: String(work.accountId),
          attemptId: work.attemptId,
          signal: work.signal,
        }),
      poll: async () => ({ kind: 'missing' }),
      canFind: () => false,
      find: async () => ({ kind: 'missing' }),
      cancel: () => undefined,
      readCallback: async () => undefined,
      present: async (result) => result,
      remember: rememberedRequest,
      keepsContent: true,
    },
  }
}
