import { Type } from 'typebox'
import { Closed, Integer, Micro, Nullable } from '../../http/fields.ts'

/** States of a task (spec 3.3). */
export const taskStates = ['waiting', 'queuing', 'generating', 'success', 'fail', 'canceled'] as const

const Open = (description: string) => Type.Object({}, { additionalProperties: true, description })

const created = {
  task_id: Type.String(),
  object: Type.Literal('task'),
  request_id: Type.String({ description: 'The x-request-id of the call that made it' }),
  model: Type.String(),
  type: Type.String({ description: 'image, video, or what a capability makes' }),
  state: Type.Enum(taskStates),
  created_at: Integer('Unix seconds'),
  poll_url: Type.String({ description: 'Poll this for the result' }),
  capability_slug: Type.String({ description: 'Empty unless a capability made it' }),
  capability_version: Type.String(),
  recommended_poll_interval_ms: Type.Integer({ description: 'Rises with the age of the task' }),
  eta_hint_seconds: Type.Integer({ description: 'How long such tasks usually take' }),
}

/** The answer to a creation (spec 2.10). */
export const TaskCreated = Closed(created)

/** A whole task (decisions 6). */
export const Task = Closed({
  ...created,
  request: Open('The parameters that were accepted; empty once the results have expired'),
  result: Open('Empty until success. For images and videos {created, data: [{url, expires_at, content_type, …}]}'),
  error: Closed({
    code: Type.Optional(Type.String()),
    message: Type.Optional(Type.String()),
  }),
  progress: Type.Integer({ minimum: 0, maximum: 100 }),
  cancel_requested: Type.Boolean({ description: 'The provider was asked to stop and has not said how it ended' }),
  updated_at: Integer('Unix seconds'),
  completed_at: Nullable(Integer('Unix seconds; null until success, fail or canceled')),
  billing: Closed({
    status: Type.Enum(['reserved', 'committed', 'released', 'usage_unknown']),
    reserve_amount_micro: Micro('What was held before the work was begun'),
    actual_amount_micro: Nullable(Micro('What it cost; null while it is not known')),
    released_amount_micro: Micro('What was given back'),
  }),
  webhook_delivery: Closed({
    url: Type.Optional(Type.String()),
    status: Type.Optional(
      Type.Enum(['waiting', 'pending', 'delivered', 'failed', 'forgotten'], {
        description:
          'waiting: for the end of the task; pending: it is tried; failed: given up; forgotten: so long ago that the log has it no more',
      }),
    ),
    attempts: Type.Optional(Type.Integer({ minimum: 0 })),
    last_attempt_at: Type.Optional(Nullable(Integer('Unix seconds'))),
    last_status: Type.Optional(Nullable(Type.Integer({ description: 'The HTTP status of the last answer' }))),
  }),
})
