import { claimKey, type IdempotencyDeps } from '../billing/idempotency/service.ts'
import { errorBody, Fault } from '../kernel/errors.ts'
import type { JsonObject } from '../providers/provider.ts'
import type { Answer } from './answer.ts'

/** A request that may have named itself. */
export interface Named {
  readonly accountId: bigint
  readonly requestId: string
  /** The path as it was sent. */
  readonly route: string
  readonly key: string | undefined
  /** Everything that the caller asked for: a repeat must ask for the same. */
  readonly body: JsonObject
  /** Checks the credential before a stored answer is given. */
  readonly confirmCredential: () => Promise<void>
}

/** Runs the request at most once for its Idempotency-Key, or gives what it was answered. Refuses as claimKey does. */
export async function once(deps: IdempotencyDeps, request: Named, run: () => Promise<Answer>): Promise<Answer> {
  const { key } = request
  if (key === undefined) return run()
  const claimed = await claimKey(deps, { ...request, key })
  if (claimed.kind === 'replay') {
    await request.confirmCredential()
    return { ...claimed.answer, headers: { ...claimed.answer.headers, 'idempotent-replayed': 'true' } }
  }
  try {
    const answer = await run()
    await claimed.complete(answer)
    return answer
  } catch (error) {
    // a refusal that charged nothing frees the key; one that left money held is the answer for good
    if (error instanceof Fault && error.code !== 'upstream_timeout' && error.code !== 'internal_error') {
      await claimed.forget()
      throw error
    }
    const fault = error instanceof Fault ? error : new Fault('internal_error')
    await claimed.complete({
      status: fault.refusal.status,
      headers: { ...fault.headers, 'content-type': 'application/json; charset=utf-8' },
      body: JSON.stringify(errorBody(fault, request.requestId)),
    })
    throw error
  }
}
