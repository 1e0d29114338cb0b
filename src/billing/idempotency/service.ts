import { createHash } from 'node:crypto'
import canonicalize from 'canonicalize'
import type { Database, Tx } from '../../db/database.ts'
import { errorBody, Fault } from '../../kernel/errors.ts'
import * as store from './store.ts'

/** How long an answer can be replayed. */
const REPLAY_HOURS = 24
/** The longest answer that is kept; repeats of a longer one are told `answer_not_kept`, never run again. */
export const REPLAY_BYTES_MAX = 8 * 1024 * 1024

/** An answer as it is kept for repeats. */
export interface StoredAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** What claims need from outside. */
export interface IdempotencyDeps {
  readonly db: Database
  readonly processId: bigint
  /** An answer that could not be kept: repeats are told `request_in_progress` until the claim is pruned. */
  readonly onTrouble: (message: string, error: unknown) => void
}

/** The first request under a key: it must `complete` or `forget` its claim. */
export interface Claimed {
  readonly kind: 'first'
  complete(answer: StoredAnswer): Promise<void>
  /** The same as a part of the caller's transaction: answer and work become durable together. */
  completeIn(tx: Tx, answer: StoredAnswer): Promise<void>
  /** Nothing was done or charged: the key may be used again. */
  forget(): Promise<void>
}

/** A repeat of a request that has its answer. */
export interface Replayed {
  readonly kind: 'replay'
  readonly answer: StoredAnswer
}

/**
 * Claims an Idempotency-Key for a request, before anything of it is done (decisions 0).
 * Same key and same body: the stored answer. Another body: `idempotency_conflict`. The first one still
 * running: `request_in_progress`. A key that is not 1 to 128 printable ASCII: `invalid_idempotency_key`.
 * A body without a canonical form: `invalid_body`.
 */
export async function claimKey(
  deps: IdempotencyDeps,
  request: { accountId: bigint; route: string; key: string; body: unknown; requestId: string },
): Promise<Claimed | Replayed> {
  if (!/^[\x20-\x7e]{1,128}$/.test(request.key)) throw new Fault('invalid_idempotency_key')
  const fingerprint = createHash('sha256').update(canonical(request.body)).digest()
  const claim = {
    accountId: request.accountId,
    route: request.route,
    key: request.key,
    requestId: request.requestId,
  }
  const row = await store.claim(deps.db, {
    ...claim,
    fingerprint,
    processId: deps.processId,
  })
  if (!row) {
    return {
      kind: 'first',
      complete: (answer) =>
        persistently(deps, () => store.complete(deps.db, claim, keepable(answer, request.requestId))),
      completeIn: (tx, answer) => store.complete(tx, claim, keepable(answer, request.requestId)),
      forget: () => persistently(deps, () => store.forget(deps.db, claim)),
    }
  }
  if (!row.fingerprint.equals(fingerprint))
    throw new Fault('idempotency_conflict', { fields: { original_request_id: row.request_id } })
  // status, headers and body are written together
  if (row.body === null) {
    throw new Fault('request_in_progress', { retryAfterMs: 1000, fields: { original_request_id: row.request_id } })
  }
  return {
    kind: 'replay',
    answer: { status: row.status as number, headers: row.headers as Record<string, string>, body: row.body },
  }
}

/** The canonical form (RFC 8785), which lone surrogates do not have. */
function canonical(body: unknown): string {
  try {
    return canonicalize(body) ?? ''
  } catch (cause) {
    throw new Fault('invalid_body', {
      message: 'A body sent with an Idempotency-Key must be well-formed Unicode: it has a lone surrogate.',
      cause,
    })
  }
}

const TRIES = 5
const TRY_AGAIN_MS = 500

/** The money has moved by now, so a database that is away for a moment must not turn the answer into an error. */
async function persistently(deps: IdempotencyDeps, write: () => Promise<void>): Promise<void> {
  try {
    await write()
  } catch (first) {
    void (async () => {
      let error: unknown = first
      for (let left = TRIES; left > 0; left--) {
        await new Promise((resolve) => setTimeout(resolve, TRY_AGAIN_MS * (TRIES - left + 1)))
        try {
          return await write()
        } catch (again) {
          error = again
        }
      }
      deps.onTrouble('the answer to an Idempotency-Key could not be kept', error)
    })()
  }
}

function keepable(answer: StoredAnswer, requestId: string): StoredAnswer {
  if (answer.body.length <= REPLAY_BYTES_MAX) return answer
  const fault = new Fault('answer_not_kept')
  return {
    status: fault.refusal.status,
    headers: { 'content-type': 'application/json; charset=utf-8' },
    body: JSON.stringify(errorBody(fault, requestId)),
  }
}

/**
 * Gives the open claims of a dead process their answer: the outcome is unknown and was billed as such. Those whose call
 * was not begun are forgotten only when it cannot begin any more (`freesUnbegun`): a repeat would run beside it.
 */
export async function settleLeftBehind(
  db: Database,
  processId: bigint,
  { freesUnbegun }: { readonly freesUnbegun: boolean },
): Promise<void> {
  const fault = new Fault('upstream_interrupted', {
    message:
      'The server stopped while this call was running, so its answer is lost. GET /v1/calls shows what it cost, or that its usage is unknown and its hold waits for the operator. Keep the request id.',
  })
  await store.settleLeftBehind(db, { processId, freesUnbegun }, (requestId) => ({
    status: fault.refusal.status,
    body: JSON.stringify(errorBody(fault, requestId)),
  }))
}

/** Forgets answers that are too old to be replayed. */
export const pruneAnswers = (db: Database): Promise<number> => store.prune(db, REPLAY_HOURS)
