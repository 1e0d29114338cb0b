import { errorBody, Fault } from '../../kernel/errors.ts'
import { type Claimed, claimKey, type IdempotencyDeps, type StoredAnswer } from './service.ts'

/** A request that may have named itself by an Idempotency-Key. */
export interface Named {
  readonly accountId: bigint
  readonly requestId: string
  /** What is asked: one key may stand for one thing at each route. */
  readonly route: string
  readonly key: string | undefined
  /** Everything that the caller asked for: a repeat must ask for the same. */
  readonly body: unknown
  /** Checks the credential before a stored answer is given. */
  readonly confirmCredential: () => Promise<void>
}

/** What is done with the request, and with the answer that a repeat gets. */
export interface Doing<T> {
  /** Does it. `claimed` is there for a request with a key: whoever answers completes it first. */
  readonly run: (claimed: Claimed | undefined) => Promise<T>
  readonly replay: (answer: StoredAnswer) => T
}

/**
 * Runs a request at most once for its Idempotency-Key, or replays what it was answered (decisions 0). A refusal that
 * charged nothing frees the key; one that left money held or a task behind is the answer for good. Refuses as claimKey does.
 */
export async function once<T>(deps: IdempotencyDeps, named: Named, { run, replay }: Doing<T>): Promise<T> {
  const { key } = named
  if (key === undefined) return run(undefined)
  const claimed = await claimKey(deps, { ...named, key })
  if (claimed.kind === 'replay') {
    await named.confirmCredential()
    const { answer } = claimed
    return replay({ ...answer, headers: { ...answer.headers, 'idempotent-replayed': 'true' } })
  }
  try {
    return await run(claimed)
  } catch (error) {
    const fault = error instanceof Fault ? error : new Fault('internal_error')
    await (isFinal(fault) ? claimed.complete(refusalAnswer(fault, named.requestId)) : claimed.forget())
    throw error
  }
}

const isFinal = ({ code, fields }: Fault): boolean =>
  code === 'upstream_timeout' || code === 'internal_error' || fields.task_id !== undefined

const refusalAnswer = (fault: Fault, requestId: string): StoredAnswer => ({
  status: fault.refusal.status,
  headers: { ...fault.headers, 'content-type': 'application/json; charset=utf-8' },
  body: JSON.stringify(errorBody(fault, requestId)),
})
