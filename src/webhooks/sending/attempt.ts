import type { Database, Tx } from '../../db/database.ts'
import { recordAction } from '../../identity/audit-log/service.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Random } from '../../kernel/random.ts'
import type { GuardedFetch } from '../../net/guarded-fetch.ts'
import { bodyOf } from '../body.ts'
import { signingSecrets } from '../endpoints/service.ts'
import * as endpoints from '../endpoints/store.ts'
import { type SecretBox, signatureHeaders, webhookId } from '../secret.ts'
import { ANSWER_LENGTH_MAX, type AttemptOutcome, judged } from './outcome.ts'
import { delayAfter, retryAfterMs } from './schedule.ts'
import * as store from './store.ts'

/** What attempts need from outside. */
export interface AttemptDeps {
  readonly db: Database
  readonly clock: Clock
  readonly random: Random
  readonly secrets: SecretBox
  readonly guarded: GuardedFetch
  /** From the first byte sent to the last one read. */
  readonly timeoutMs: number
  /** Aborted when this process ends. */
  readonly ending: AbortSignal
  /** What one attempt came to: one word of a short list. */
  readonly onAttempt: (word: string) => void
  /** Says to operators that an endpoint was disabled. */
  readonly onDisabled: (endpointId: bigint, reason: 'gone' | 'failing') => void
}

const ANSWER_BYTES_MAX = 4 * ANSWER_LENGTH_MAX
/** So long an endpoint may fail without one success before it is disabled. */
const FAILING_MAX_MS = 5 * 86_400_000

/** Makes a claimed attempt and records what came of it. Rejects when the database cannot be reached: then the lease ends. */
export async function attempt(deps: AttemptDeps, claim: store.Claim, job: store.Job): Promise<void> {
  const startedAt = deps.clock.now()
  const startedMs = deps.clock.monotonicMs()
  const outcome = await send(deps, job, startedAt)
  if (outcome.verdict === 'interrupted') return store.giveBack(deps.db, claim)
  deps.onAttempt(outcome.word)
  await record(deps, outcome, {
    claim,
    startedAt,
    durationMs: Math.round(deps.clock.monotonicMs() - startedMs),
    outcome: outcome.word,
    status: outcome.status,
    answer: outcome.answer,
  })
}

async function send(deps: AttemptDeps, job: store.Job, at: Date): Promise<AttemptOutcome> {
  const body = JSON.stringify(bodyOf(job, job.endpoint_account_id))
  const secrets = await secretsOf(deps, job, at)
  return judged(
    await deps.guarded.fetch({
      url: job.url,
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'user-agent': 'Farebox-Webhooks/1',
        ...signatureHeaders({ id: webhookId(job.id), at, body, secrets }),
      },
      body,
      headersTimeoutMs: deps.timeoutMs,
      totalTimeoutMs: deps.timeoutMs,
      bodyBytesMax: ANSWER_BYTES_MAX,
      excess: 'cut',
      redirectsMax: 0,
      signal: deps.ending,
    }),
  )
}

/** An account whose first task has a URL gets its secret here; POST /v1/me/webhooks/task-secret makes it known. */
async function secretsOf(deps: AttemptDeps, job: store.Job, now: Date): Promise<string[]> {
  const row = { ...job, account_id: job.endpoint_account_id }
  if (row.sealed_secret !== null || job.kind === 'registered') return signingSecrets(deps.secrets, row, now)
  const accountId = job.endpoint_account_id
  await endpoints.insertTaskSecret(deps.db, { accountId, sealed: deps.secrets.create(accountId).sealed, at: now })
  const made = await endpoints.taskSecret(deps.db, accountId)
  return signingSecrets(deps.secrets, made ?? row, now)
}

async function record(deps: AttemptDeps, outcome: AttemptOutcome, ended: store.EndedAttempt): Promise<void> {
  if (outcome.verdict === 'delivered') return recordSuccess(deps, ended)
  const disabled = await deps.db.transaction().execute((tx) => recordFailure(tx, deps, outcome, ended))
  if (disabled) deps.onDisabled(ended.claim.endpoint_id, disabled)
}

/** Leaves the endpoint's row alone unless it was failing: whoever claims the next attempts needs its lock. */
async function recordSuccess({ db, clock }: AttemptDeps, ended: store.EndedAttempt): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await store.noteSuccess(tx, ended.claim.endpoint_id)
    await store.endAttempt(tx, ended, { event: 'succeed', nextAttemptAt: undefined, at: clock.now() })
  })
}

/** Delivery, log and endpoint move together; what the endpoint is judged by is read under its lock. */
async function recordFailure(
  tx: Tx,
  deps: AttemptDeps,
  outcome: AttemptOutcome,
  ended: store.EndedAttempt,
): Promise<'gone' | 'failing' | undefined> {
  const endpoint = await store.lockEndpoint(tx, ended.claim.endpoint_id)
  if (!endpoint) return undefined
  const at = deps.clock.now()
  if (!(await store.endAttempt(tx, ended, { ...nextStep(deps, outcome, ended.claim.tries, at), at }))) return undefined
  await store.noteFailure(tx, endpoint.id, at)
  const reason = reasonToDisable(endpoint, outcome, at)
  if (!reason || !(await endpoints.disable(tx, endpoint.id, reason, at))) return undefined
  await store.tellDisabled(tx, endpoint, reason, at)
  await recordAction(tx, {
    actor: { kind: 'system', name: 'webhooks' },
    action: 'disable.webhook',
    targetId: endpoint.id,
    after: { reason },
  })
  return reason
}

function nextStep(
  { random }: AttemptDeps,
  outcome: AttemptOutcome,
  tries: number,
  at: Date,
): { event: 'retry' | 'give_up'; nextAttemptAt: Date | undefined } {
  const delay =
    outcome.verdict === 'gone'
      ? undefined
      : delayAfter(tries, { random, retryAfterMs: retryAfterMs(outcome.retryAfter, at) })
  if (delay === undefined) return { event: 'give_up', nextAttemptAt: undefined }
  return { event: 'retry', nextAttemptAt: new Date(at.getTime() + delay) }
}

/** Hosts of tasks are never disabled: their URLs come and go. */
function reasonToDisable(
  endpoint: store.EndpointHealth,
  outcome: AttemptOutcome,
  at: Date,
): 'gone' | 'failing' | undefined {
  if (endpoint.kind === 'task_host' || endpoint.disabled_at !== null) return undefined
  if (outcome.verdict === 'gone') return 'gone'
  const failingMs = endpoint.failing_since === null ? 0 : at.getTime() - endpoint.failing_since.getTime()
  return failingMs >= FAILING_MAX_MS ? 'failing' : undefined
}
