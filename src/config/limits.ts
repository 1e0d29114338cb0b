import type { CheckedFile } from './file.ts'

/** What bounds the load one server takes. */
export interface Limits {
  readonly requestsPerMinutePerCredential: number
  readonly authRequestsPerMinutePerAddress: number
  readonly topupRequestsPerMinutePerAddress: number
  /** undefined: no bound but memory. */
  readonly concurrentStreams: number | undefined
  readonly queueOperationsMax: number
  readonly bodyBytes: number
  readonly chatBodyBytes: number
  readonly mediaBodyBytes: number
  /** Worked on at once by one process. */
  readonly concurrentTasks: number
}

/** Requests per minute where the file says nothing (decisions 0): what a public server takes, and what a developer's own machine takes. */
const requestsPerMinute = {
  production: { credential: 600, auth: 60, topup: 10 },
  development: { credential: 60_000, auth: 60_000, topup: 60_000 },
} as const satisfies Record<'production' | 'development', object>

/** The limits of the file; what it leaves out is what a server of this mode takes. */
export function readLimits(file: CheckedFile, mode: 'production' | 'development'): Limits {
  const { limits } = file.content
  const fallback = requestsPerMinute[mode]
  return {
    requestsPerMinutePerCredential: limits.requests_per_minute_per_credential ?? fallback.credential,
    authRequestsPerMinutePerAddress: limits.auth_requests_per_minute_per_address ?? fallback.auth,
    topupRequestsPerMinutePerAddress: limits.topup_requests_per_minute_per_address ?? fallback.topup,
    concurrentStreams: limits.concurrent_streams,
    queueOperationsMax: limits.queue_operations_max,
    bodyBytes: limits.body_bytes,
    chatBodyBytes: limits.chat_body_bytes,
    mediaBodyBytes: limits.media_body_bytes,
    concurrentTasks: limits.concurrent_tasks,
  }
}
