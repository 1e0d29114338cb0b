import { ZERO } from '../kernel/money.ts'
import type { JsonObject } from '../providers/provider.ts'
import type { Catalogue } from './catalogue.ts'
import { work } from './ending.ts'
import type { InvocationReport } from './invocation.ts'
import { type Charge, holdFor } from './pricing.ts'

/** The work of an asynchronous call, as a task carries it on: `request` is what was given to `CreateTask`. */
export interface CapabilityJob {
  readonly slug: string
  readonly request: JsonObject
  readonly accountId: string
  /** Unique for ever: what the upstream is told as the call's id. */
  readonly attemptId: string
  readonly signal: AbortSignal
}

/** What stays of a job's request when its work is over: which operation it was, and nothing of its input. */
export const rememberedRequest = ({ input: _, ...request }: JsonObject): JsonObject => request

/** How it ended, by what it means for money. `units`: what is charged; undefined: what was held. */
export type JobEnd =
  | { readonly kind: 'succeeded'; readonly result: JsonObject; readonly units: number | undefined }
  | { readonly kind: 'failed'; readonly code: string; readonly message: string; readonly billed: false }
  | { readonly kind: 'lost'; readonly message: string }

/** What jobs need from outside. */
export interface JobDeps {
  readonly capabilities: () => Catalogue
  readonly onInvoked: (report: InvocationReport) => void
}

/**
 * Does the work of a task, once. The version is found again by its name: versions are frozen, so price and schemas
 * are those of the hold. Never rejects.
 */
export async function runJob({ capabilities, onInvoked }: JobDeps, job: CapabilityJob): Promise<JobEnd> {
  const { capability_version: version, operation, input } = job.request as JsonObject & { input: JsonObject }
  const found = capabilities().get(job.slug)?.versions.get(String(version))
  const served = found?.drifted ? undefined : found?.operations.get(String(operation))
  const hold = served && holdFor(served.operation.price, input)
  if (!served || typeof hold !== 'object')
    return {
      kind: 'failed',
      code: 'capability_version_not_found',
      message: 'The capability was withdrawn before the work began. Nothing was charged.',
      billed: false,
    }
  const ending = await work(served, hold, {
    input,
    requestId: job.attemptId,
    accountId: job.accountId,
    callId: job.attemptId,
    signal: job.signal,
  })
  const report = (state: InvocationReport['state'], charge: Charge | undefined): void =>
    onInvoked({
      capability: served.capability.slug,
      operation: served.operation.slug,
      state,
      chargedMicro: charge?.micro,
    })
  if (ending.kind === 'undone') {
    report('released', { micro: ZERO, units: undefined })
    return { kind: 'failed', code: ending.fault.code, message: ending.fault.message, billed: false }
  }
  if (ending.kind === 'unknown' || ending.charge === undefined) {
    report('usage_unknown', undefined)
    return {
      kind: 'lost',
      message: ending.kind === 'unknown' ? ending.reason : 'the answer does not say how many units it has',
    }
  }
  report('settled', ending.charge)
  return { kind: 'succeeded', result: { data: ending.data }, units: ending.charge.units }
}
