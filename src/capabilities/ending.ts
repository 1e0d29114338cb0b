import { Fault } from '../kernel/errors.ts'
import type { OperationCall, OperationOutcome } from '../providers/capability.ts'
import { isCallersFault, type JsonObject } from '../providers/provider.ts'
import type { ServedOperation } from './catalogue.ts'
import { type Charge, chargeFor } from './pricing.ts'

/**
 * How the work of a call ended:
 * `answered`  as declared; `charge` is undefined when its units cannot be known;
 * `undone`    nothing is owed: the hold goes back;
 * `unknown`   what is owed cannot be known: the hold stays.
 */
export type Ending =
  | { readonly kind: 'answered'; readonly data: unknown; readonly charge: Charge | undefined }
  | { readonly kind: 'undone'; readonly fault: Fault }
  | { readonly kind: 'unknown'; readonly reason: string }

/** Has the work done and says how it ended. Never rejects. */
export async function work(served: ServedOperation, hold: Charge, call: CallOf): Promise<Ending> {
  const { operation, provider } = served
  const outcome = await provider
    .call({ ...call, method: operation.method, path: operation.path })
    .catch((): OperationOutcome => ({ kind: 'lost', message: 'the adapter of the upstream failed' }))
  switch (outcome.kind) {
    case 'refused':
      return { kind: 'undone', fault: refusal(served, outcome) }
    case 'lost':
      return { kind: 'unknown', reason: outcome.message }
    case 'answer': {
      const wrong = outcome.data === undefined ? 'it is no JSON' : misfit(served, outcome.data)
      if (wrong !== undefined) return { kind: 'undone', fault: invalidAnswer(served, wrong) }
      return {
        kind: 'answered',
        data: outcome.data,
        charge: chargeFor(operation.price, hold, outcome.data),
      }
    }
  }
}

/** What is told to the upstream besides which operation it is. */
type CallOf = Omit<OperationCall, 'method' | 'path'>

function misfit({ output }: ServedOperation, data: unknown): string | undefined {
  // defaults of the schema are for what comes in; what the upstream answered is passed on as it is
  const found = output.misfit(structuredClone(data))
  return found && `${found.pointer || 'it'} ${found.message}`
}

function refusal(served: ServedOperation, outcome: Extract<OperationOutcome, { kind: 'refused' }>): Fault {
  const { slug } = served.capability
  if (isCallersFault(outcome.status))
    return new Fault('upstream_refused', {
      message: `${slug} refused the request: ${outcome.message}`,
      fields: { provider_status: String(outcome.status) },
    })
  return new Fault('upstream_failed', {
    message: `${slug} could not do it, so nothing was charged. Try again later.`,
    cause: new Error(outcome.status === undefined ? outcome.message : `${slug} answered ${outcome.status}`),
    ...(outcome.retryAfterMs === undefined ? {} : { retryAfterMs: outcome.retryAfterMs }),
  })
}

function invalidAnswer({ capability, version, operation }: ServedOperation, wrong: string): Fault {
  return new Fault('upstream_answer_invalid', {
    cause: new Error(
      `${capability.slug} ${version.version} ${operation.slug} answered outside its output_schema: ${wrong}`,
    ),
  })
}

/** What is kept with the hold: enough to charge and explain the call years later, and nothing of its content. */
export function priceSnapshot({ capability, version, operation }: ServedOperation, hold: Charge): JsonObject {
  const { price } = operation
  return {
    capability: capability.slug,
    capability_version: version.version,
    version_hash: version.hash,
    operation: operation.slug,
    price: {
      kind: price.kind,
      micro: Number(price.micro),
      ...(price.kind === 'fixed' ? {} : { unit: price.unit, at: price.at, units_held: hold.units }),
    },
  }
}
