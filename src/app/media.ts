import type { MediaModelConfig } from '../config/media-models.ts'
import type { Route } from '../http/route.ts'
import { imageRoutes } from '../media/images/routes.ts'
import type { MediaParts } from '../media/parts.ts'
import { MEDIA_RUNNER, mediaRunner } from '../media/runner.ts'
import { callbackAddresses } from '../media/tasks/callbacks.ts'
import { type TaskDeps, taskPace } from '../media/tasks/deps.ts'
import { taskRoutes } from '../media/tasks/routes.ts'
import type { TaskRunner } from '../media/tasks/runner.ts'
import { glances } from '../media/tasks/store.ts'
import { createWaiting } from '../media/tasks/waiting.ts'
import { startTaskWorker, type TaskWorker } from '../media/tasks/working/worker.ts'
import { videoRoutes } from '../media/videos/routes.ts'
import { checkedWebhookUrl } from '../webhooks/address.ts'
import type { Core } from './core.ts'
import type { OpenedMediaParts } from './media-parts.ts'

const DAY_MS = 86_400_000

/** Tasks of this process: their endpoints and their worker. */
export interface Media {
  /** What others start tasks with. */
  readonly tasks: TaskDeps
  readonly routes: readonly Route[]
  /** Begins to work on tasks; until then they wait. */
  start(): void
  /** Lets whoever waits for a task go, takes no more work, and ends with the steps that run; core.ending aborts them. */
  stop(): Promise<void>
}

/** Opens the tasks of this process. `runners`: who does the tasks of others than images and videos, by name. */
export function openMedia(
  core: Core,
  parts: MediaParts & Partial<OpenedMediaParts>,
  {
    publicUrl,
    paymentHint,
    runners = {},
  }: {
    readonly publicUrl: () => string
    readonly paymentHint: TaskDeps['paymentHint']
    readonly runners?: Readonly<Record<string, TaskRunner>>
  },
): Media {
  const { db, around, onTrouble } = core
  const { config, clock } = around
  const models = (): ReadonlyMap<string, MediaModelConfig> => core.mediaModels()
  const waiting = createWaiting({ glances: (ids) => glances(db, ids), closing: core.closing, onTrouble })
  let worker: TaskWorker | undefined
  const pace = { ...taskPace, ...parts.pace }
  const { keepPauseMs } = pace
  const media = mediaRunner({ ...parts, models, clock, keepPauseMs, onTrouble, onAttempt: core.metrics.attempted })
  const tasks: TaskDeps = {
    db,
    ledger: core.ledger,
    clock,
    random: around.random,
    processId: core.processId,
    paymentHint,
    runners: { ...runners, [MEDIA_RUNNER]: media },
    callbacks: callbackAddresses({ pepper: around.pepper, publicUrl }),
    waiting,
    checkedWebhookUrl: (text, field) => checkedWebhookUrl(text, core.webhooks.addresses, field),
    webhookDeliveries: core.webhooks.taskDeliveries,
    pace,
    resultLifeMs: config.results.keepDays * DAY_MS,
    ending: core.ending.signal,
    wake: () => worker?.wake(),
    onTrouble,
  }
  const making = { ...tasks, models, now: () => clock.now(), mediaBodyLimit: config.limits.mediaBodyBytes }
  return {
    tasks,
    routes: [
      ...imageRoutes({ ...making, results: parts.results }),
      ...videoRoutes(making),
      ...taskRoutes(tasks),
      ...(parts.routes ?? []),
    ],
    start() {
      worker ??= startTaskWorker(tasks, config.limits.concurrentTasks)
    },
    async stop() {
      waiting.stop()
      await worker?.stop()
      await Promise.all(Object.values(parts.providers).map((provider) => provider.close()))
      await parts.close?.()
    },
  }
}
