import { type CallsDeps, type OpenCall, openCall, type Settled } from '../billing/calls/lifecycle.ts'
import type { StoredAnswer } from '../billing/idempotency/service.ts'
import type { Database } from '../db/database.ts'
import type { Caller } from '../kernel/caller.ts'
import { Fault } from '../kernel/errors.ts'
import { ZERO } from '../kernel/money.ts'
import { answerOf, asyncAnswerOf, billingOf } from './answer.ts'
import type { Catalogue, ServedOperation } from './catalogue.ts'
import { type Ending, priceSnapshot, work } from './ending.ts'
import { type Asked, misfitFault, readInput } from './input.ts'
import type { Invocation, InvocationReport } from './invocation.ts'
import { type Charge, holdFor } from './pricing.ts'
import * as store from './store.ts'
import type { CreateTask } from './tasks-port.ts'

/** What calls of capabilities need from outside. */
export interface InvokeDeps extends CallsDeps {
  readonly db: Database
  /** What is served; a function, so that it can change while calls run. */
  readonly capabilities: () => Catalogue
  readonly createTask: CreateTask
  /** Aborted when the server must end: what still runs then becomes `usage_unknown`. */
  readonly ending: AbortSignal
  readonly onInvoked: (report: InvocationReport) => void
  readonly onTrouble: (message: string, error: unknown) => void
}

/**
 * The operation that is called. Refuses with `capability_not_found`, `capability_version_not_found`,
 * `capability_version_drifted`, `operation_not_found`, and `method_not_allowed` with `Allow`.
 */
export function findOperation(
  catalogue: Catalogue,
  wanted: { slug: string; operation: string | undefined; version: string | undefined; method: string | undefined },
): ServedOperation {
  const capability = catalogue.get(wanted.slug)
  if (!capability) throw new Fault('capability_not_found')
  const name = wanted.version ?? capability.config.defaultVersion
  const served = capability.versions.get(name)
  if (!served)
    throw new Fault('capability_version_not_found', {
      message: `${wanted.slug} has no such version. It has ${[...capability.versions.keys()].join(', ')}.`,
    })
  const operation = served.operations.get(wanted.operation ?? served.version.defaultOperation)
  if (!operation)
    throw new Fault('operation_not_found', {
      message: `${wanted.slug} ${name} has no such operation. It has ${[...served.operations.keys()].join(', ')}.`,
    })
  const { method } = operation.operation
  if (wanted.method !== undefined && wanted.method !== method)
    throw new Fault('method_not_allowed', {
      message: `The operation ${operation.operation.slug} of ${wanted.slug} ${name} takes ${method} only.`,
      headers: { allow: method },
    })
  if (served.drifted)
    throw new Fault('capability_version_drifted', {
      message: `${wanted.slug} ${name} is configured otherwise than it was when it was first served, so it is not called. Nothing was charged.${othersThan(name, capability.versions)}`,
      fields: { capability: wanted.slug, capability_version: name },
    })
  return operation
}

function othersThan(name: string, versions: ReadonlyMap<string, { readonly drifted: boolean }>): string {
  const others = [...versions].filter(([version, { drifted }]) => version !== name && !drifted)
  return others.length === 0 ? '' : ` Others are in order: ${others.map(([version]) => version).join(', ')}.`
}

/**
 * Calls an operation: input, then hold, then work, then capture, then the answer; or makes a task of it. Refuses
 * with what is wrong with the input, as openCall does, with `idempotency_key_required`, `funding_mode_not_allowed`,
 * and with how the upstream failed.
 */
export async function invoke(deps: InvokeDeps, invocation: Invocation): Promise<StoredAnswer> {
  const { served, caller } = invocation
  const asked = readInput(invocation)
  const hold = holdOf(served, asked)
  await refuseFundingMode(deps, served, caller)
  if (asked.mode === 'async') return startTask(deps, invocation, asked, hold)
  if (hold.micro === ZERO) return invokeFree(deps, invocation, asked, hold)
  const call = await openCall(deps, {
    caller,
    requestId: invocation.requestId,
    category: 'capability',
    subject: subjectOf(served),
    wantedMicro: hold.micro,
    minimumMicro: hold.micro,
    detail: priceSnapshot(served, hold),
  })
  // read while the upstream works: who pays was decided with the hold
  const payers = readPayers(deps, call.callId)
  const ending = await work(served, hold, {
    input: asked.input,
    requestId: invocation.requestId,
    accountId: String(caller.accountId),
    callId: String(call.callId),
    signal: deps.ending,
  })
  const settled = await settle(call, ending)
  deps.onInvoked({ ...namesOf(served), state: settled.state, chargedMicro: settled.chargedMicro })
  if (ending.kind === 'undone') throw ending.fault
  if (ending.kind === 'unknown') throw lostFault(served, call, ending.reason)
  return answerOf({ invocation, call, settled, data: ending.data, payers: await payers })
}

/** What a statement calls the purchase. */
const subjectOf = ({ capability, operation }: ServedOperation): string => `${capability.slug}/${operation.slug}`

const namesOf = ({ capability, operation }: ServedOperation) => ({
  capability: capability.slug,
  operation: operation.slug,
})

function holdOf({ operation }: ServedOperation, { input, base }: Asked): Charge {
  const hold = holdFor(operation.price, input)
  if (typeof hold === 'object') return hold
  const { price } = operation
  const pointer = price.kind === 'fixed' ? '' : price.at
  const most = price.kind === 'fixed' ? '' : `${price.unitsMax} ${price.unit}`
  const message = hold === 'no units' ? 'has nothing that could be counted' : `has more than ${most}`
  throw misfitFault({ pointer, keyword: 'units', message }, base)
}

/** Funding modes that leave nobody out need no look at the link. */
async function refuseFundingMode({ db }: InvokeDeps, { capability }: ServedOperation, caller: Caller): Promise<void> {
  const { fundingModes, slug } = capability
  if (fundingModes.length === 3) return
  const mode = await store.billingMode(db, caller.accountId)
  if (mode === undefined || fundingModes.includes(mode)) return
  throw new Fault('funding_mode_not_allowed', {
    message: `${slug} can be called by Agents whose billing mode is ${fundingModes.join(' or ')}; this one's is ${mode}. Nothing was charged.`,
    fields: { billing_mode: mode, funding_modes: fundingModes.join(',') },
  })
}

async function invokeFree(
  deps: InvokeDeps,
  invocation: Invocation,
  { input }: Asked,
  hold: Charge,
): Promise<StoredAnswer> {
  const { served, caller, requestId } = invocation
  await invocation.confirmCredential()
  const accountId = String(caller.accountId)
  const ending = await work(served, hold, { input, requestId, accountId, callId: '', signal: deps.ending })
  const state = ending.kind === 'answered' ? 'settled' : 'released'
  deps.onInvoked({ ...namesOf(served), state, chargedMicro: ZERO })
  if (ending.kind === 'undone') throw ending.fault
  if (ending.kind === 'unknown')
    throw new Fault('upstream_failed', {
      message: `${served.capability.slug} did not answer in time. The call is free, so nothing was charged.`,
      cause: new Error(ending.reason),
    })
  return answerOf({ invocation, call: undefined, settled: undefined, data: ending.data, payers: undefined })
}

/** Ends the call's money by how its work ended. */
async function settle(call: OpenCall, ending: Ending): Promise<Settled> {
  const written =
    ending.kind === 'undone'
      ? call.release()
      : ending.kind === 'unknown'
        ? call.unknown(`the upstream was lost: ${ending.reason}`)
        : ending.charge === undefined
          ? call.unknown('the answer does not say how many units it has')
          : call.capture({
              actualMicro: ending.charge.micro,
              outcome: 'success',
              usage: ending.charge.units === undefined ? { calls: 1 } : { units: ending.charge.units },
            })
  return written.catch((cause: unknown) => {
    // the end is still on its way to the ledger: this is no refusal, after which the call could be made again
    throw new Fault('internal_error', {
      message: `The operation was called, but what it cost could not be written in time. Call ${call.callId} is charged later; do not repeat it.`,
      headers: { 'x-should-retry': 'false' },
      cause,
    })
  })
}

function lostFault({ capability }: ServedOperation, call: OpenCall, reason: string): Fault {
  return new Fault('upstream_timeout', {
    message: `${capability.slug} was called and did not answer. What it did is unknown, so ${Number(call.reserveMicro)} microcredits stay held until the operator resolves call ${call.callId}.`,
    headers: { 'x-call-id': String(call.callId), 'x-credits-held-micro': String(call.reserveMicro) },
    fields: { call_id: String(call.callId) },
    cause: new Error(reason),
  })
}

/** The billing block is not worth failing a call for that was charged: without its payers it is shorter. */
function readPayers({ db, onTrouble }: InvokeDeps, callId: bigint): Promise<store.CallPayers | undefined> {
  return store.payersOf(db, callId).catch((error: unknown) => {
    onTrouble('who pays for a call could not be read', error)
    return undefined
  })
}

async function startTask(deps: InvokeDeps, invocation: Invocation, asked: Asked, hold: Charge): Promise<StoredAnswer> {
  const { served, caller, requestId } = invocation
  const { capability, version, operation } = served
  const { price } = operation
  const task = await deps.createTask({
    caller,
    requestId,
    capabilitySlug: capability.slug,
    capabilityVersion: version.version,
    request: { capability_version: version.version, operation: operation.slug, input: asked.input },
    // the version is frozen, so its name says which price this is
    price: {
      version: 1,
      unit: price.kind === 'fixed' ? 'call' : price.unit,
      unitMicro: price.micro,
      units: hold.units ?? 1,
    },
    webhookUrl: asked.webhookUrl,
    etaSeconds: operation.etaSeconds,
  })
  const payers = await readPayers(deps, task.callId)
  return asyncAnswerOf(invocation, task, billingOf({ caller, call: task, settled: undefined, payers }))
}
