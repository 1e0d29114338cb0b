import type { Settled } from '../billing/calls/lifecycle.ts'
import type { StoredAnswer } from '../billing/idempotency/service.ts'
import type { Caller } from '../kernel/caller.ts'
import { type Microcredits, toJsonInteger } from '../kernel/money.ts'
import type { JsonObject } from '../providers/provider.ts'
import type { Invocation } from './invocation.ts'
import type { CallPayers } from './store.ts'
import type { MadeTask } from './tasks-port.ts'

/** A hold, as far as an answer tells of it. */
interface Held {
  readonly callId: bigint
  readonly reserveMicro: Microcredits
}

const JSON_TYPE = 'application/json; charset=utf-8'

const billingStatus = {
  settled: 'committed',
  released: 'released',
  shortfall: 'pending_settlement',
  usage_unknown: 'usage_unknown',
} as const satisfies Record<Settled['state'], string>

/** The answer of a call that was done. Without `call` it was free. */
export function answerOf({
  invocation,
  call,
  settled,
  data,
  payers,
}: {
  invocation: Invocation
  call: Held | undefined
  settled: Settled | undefined
  data: unknown
  payers: CallPayers | undefined
}): StoredAnswer {
  const charged = settled === undefined ? 0n : settled.chargedMicro
  return {
    status: 200,
    headers: {
      'content-type': JSON_TYPE,
      'cache-control': 'no-store',
      ...(call ? heldHeaders(call) : {}),
      ...(settled ? { 'x-credits-available-micro': String(settled.availableMicro) } : {}),
      ...(charged === undefined
        ? { 'x-billing-state': settled?.state === 'shortfall' ? 'pending_settlement' : 'usage_unknown' }
        : { 'x-credits-charged-micro': String(charged) }),
    },
    body: JSON.stringify({
      ...head(invocation),
      mode: 'sync',
      data,
      billing: billingOf({ caller: invocation.caller, call, settled, payers }),
    }),
  }
}

/** The answer of a call that became a task: 202. */
export function asyncAnswerOf(invocation: Invocation, task: MadeTask, billing: JsonObject): StoredAnswer {
  const { poll_url: pollUrl } = task.view
  return {
    status: 202,
    headers: {
      'content-type': JSON_TYPE,
      'cache-control': 'no-store',
      ...heldHeaders(task),
      ...(typeof pollUrl === 'string' ? { location: pollUrl } : {}),
    },
    body: JSON.stringify({ ...head(invocation), mode: 'async', data: task.view, billing }),
  }
}

/**
 * Who pays for a call, and how much (decisions 6). `funding` lists the payers in the order of use, with what
 * each held and, once it is known, paid. Without `settled` the call still runs; without `call` it is free.
 */
export function billingOf({
  caller,
  call,
  settled,
  payers,
}: {
  caller: Caller
  call: Held | undefined
  settled: Settled | undefined
  payers: CallPayers | undefined
}): JsonObject {
  const actual = call === undefined ? 0n : settled?.chargedMicro
  const actor = { account_id: toJsonInteger(caller.accountId) }
  const [first] = payers?.payers ?? []
  return {
    status: call === undefined ? 'committed' : settled === undefined ? 'reserved' : billingStatus[settled.state],
    actor,
    payer: first === undefined ? actor : { account_id: toJsonInteger(first.accountId) },
    ...(payers?.ownerAccountId === undefined ? {} : { owner: { account_id: toJsonInteger(payers.ownerAccountId) } }),
    reserve_amount_micro: toJsonInteger(call?.reserveMicro ?? 0n),
    actual_amount_micro: actual === undefined ? null : toJsonInteger(actual),
    ...(call === undefined ? {} : { call_id: toJsonInteger(call.callId) }),
    funding: fundingOf(payers, actual),
  }
}

function fundingOf(payers: CallPayers | undefined, actual: bigint | undefined): JsonObject[] {
  let left = actual ?? 0n
  return (payers?.payers ?? []).map(({ accountId, reservedMicro }) => {
    // parts are used in order, as the capture does
    const paid = left < reservedMicro ? left : reservedMicro
    left -= paid
    return {
      account_id: toJsonInteger(accountId),
      reserved_amount_micro: toJsonInteger(reservedMicro),
      amount_micro: actual === undefined ? null : toJsonInteger(paid),
    }
  })
}

const head = ({ requestId, served }: Invocation): JsonObject => ({
  request_id: requestId,
  capability: served.capability.slug,
  capability_version: served.version.version,
  operation: served.operation.slug,
})

const heldHeaders = ({ callId, reserveMicro }: Held): Record<string, string> => ({
  'x-call-id': String(callId),
  'x-credits-held-micro': String(reserveMicro),
})
