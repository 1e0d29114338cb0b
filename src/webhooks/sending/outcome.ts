import type { FetchOutcome } from '../../net/outcome.ts'

/** What became of one attempt. */
export interface AttemptOutcome {
  /** `gone`: the receiver wants nothing any more. `interrupted`: this process ends; the attempt does not count. */
  readonly verdict: 'delivered' | 'failed' | 'gone' | 'interrupted'
  /** In one word, for the log and the metrics: `ok`, `status`, `redirect`, `gone`, `timeout`, `address`, ... */
  readonly word: string
  readonly status: number | undefined
  /** The beginning of the answer's body. */
  readonly answer: string
  readonly retryAfter: string | undefined
}

/** How much of an answer is kept. */
export const ANSWER_LENGTH_MAX = 300

/** Judges an attempt: 2xx is delivered, 410 is gone, everything else has failed. Redirects are not followed. */
export function judged(outcome: FetchOutcome): AttemptOutcome {
  const nothing = { status: undefined, answer: '', retryAfter: undefined }
  if (outcome.kind !== 'answer') {
    const verdict = outcome.reason === 'aborted' ? 'interrupted' : 'failed'
    return { ...nothing, verdict, word: outcome.reason }
  }
  const { status, headers } = outcome
  const told = { status, answer: shown(outcome.body), retryAfter: headers['retry-after'] }
  if (status >= 200 && status < 300) return { ...told, verdict: 'delivered', word: 'ok' }
  if (status === 410) return { ...told, verdict: 'gone', word: 'gone' }
  return { ...told, verdict: 'failed', word: status >= 300 && status < 400 ? 'redirect' : 'status' }
}

/** Text for people: no control characters, which a database and a terminal would both take amiss. */
const shown = (body: Buffer): string => body.toString('utf8').replace(/\p{C}/gu, ' ').slice(0, ANSWER_LENGTH_MAX).trim()
