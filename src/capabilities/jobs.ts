import { type Microcredits, ZERO } from '../kernel/money.ts'
import type { JsonObject } from '../providers/provider.ts'
import type { Catalogue } from './catalogue.ts'
import { work } from './ending.ts'
import type { InvocationReport } from './invocation.ts'
import { holdFor } from './pricing.ts'

/** An asynchronous call, as a worker carries it on: `job` is what was given to `CreateTask`. */
export interface CapabilityJob {
  readonly callId: bigint
  readonly accountId: bigint
  readonly requestId: string
  readonly job: JsonObject
  readonly signal: AbortSignal
  readonly onProgress: (part: number) => void
}

/** How it ended, by what it means for money. */
export type JobEnd =
  | {
      readonly kind: 'succeeded'
      readonly result: JsonObject
      readonly actualMicro: Microcredits
      readonly usage: JsonObject
    }
  | { readonly kind: 'failed'; readonly code: string; readonly message: string }
  | { readonly kind: 'unknown'; readonly reason: string }

/** What jobs need from outside. */
export interface JobDeps {
  readonly capabilities: () => Catalogue
  readonly onInvoked: (report: InvocationReport) => void
}

/**
 * Does the work of a task, once. The version is found again by its name: versions are frozen, so price and schemas
 * are those of the hold. Never rejects.
 */
export async function runJob({ capabilities, onInvoked }: JobDeps, task: CapabilityJob): Promise<JobEnd> {
  const { slug, version, operation, input } = task.job as { [name: string]: string } & { input: JsonObject }
  const found = capabilities()
    .get(slug ?? '')
    ?.versions.get(version ?? '')
  const served = found?.drifted ? undefined : found?.operations.get(operation ?? '')
  const hold = served && holdFor(served.operation.price, input)
  if (!served || typeof hold !== 'object')
    return {
      kind: 'failed',
      code: 'capability_version_not_found',
      message: 'The capability was withdrawn before the work began. Nothing was charged.',
    }
  const ending = await work(served, hold, {
    input,
    requestId: task.requestId,
    accountId: String(task.accountId),
    callId: String(task.callId),
    signal: task.signal,
    onProgress: task.onProgress,
  })
  const report = (state: InvocationReport['state'], chargedMicro: bigint | undefined): void =>
    onInvoked({ capability: served.capability.slug, operation: served.operation.slug, state, chargedMicro })
  if (ending.kind === 'undone') {
    report('released', ZERO)
    return { kind: 'failed', code: ending.fault.code, message: ending.fault.message }
  }
  if (ending.kind === 'unknown' || ending.charge === undefined) {
    report('usage_unknown', undefined)
    return {
      kind: 'unknown',
      reason: ending.kind === 'unknown' ? ending.reason : 'the answer does not say how many units it has',
    }
  }
  report('settled', ending.charge.micro)
  return {
    kind: 'succeeded',
    result: { data: ending.data },
    actualMicro: ending.charge.micro,
    usage: ending.charge.units === undefined ? { calls: 1 } : { units: ending.charge.units },
  }
}
