import type { paths } from './api.d.ts'
import { FareboxError, RateLimitError, UnavailableError } from './errors.ts'
import type { Transport } from './transport.ts'

/** What to show to the owner, who approves it in a browser. */
export interface DeviceCode {
  /** Such as `BCDF-GHJK`: the page shows the same. */
  readonly userCode: string
  readonly verificationUri: string
  /** The same with the code in it: for a link or a QR code. */
  readonly verificationUriComplete: string
  /** Milliseconds since 1970. */
  readonly expiresAt: number
}

/** A login that an owner approves in the console (RFC 8628). */
export interface DeviceLogin {
  /** Shows the code; called once, before the wait. */
  readonly onCode: (code: DeviceCode) => void | Promise<void>
  /** What the owner sees that asks, such as `nightly build on ci-3`. */
  readonly clientName?: string
  readonly signal?: AbortSignal
}

type Answers = { [P in '/v1/auth/device' | '/v1/auth/device/token']: paths[P]['post']['responses'][200] }
type Begun = Answers['/v1/auth/device']['content']['application/json']
type Approved = Answers['/v1/auth/device/token']['content']['application/json']

/** Answers after which one asks again. A server that is away or busy says nothing about the login. */
const isUndecided = (error: unknown): error is FareboxError =>
  error instanceof RateLimitError ||
  error instanceof UnavailableError ||
  (error instanceof FareboxError && (error.code === 'authorization_pending' || error.code === 'slow_down'))

/** Begins a login, shows its code, and asks at the server's pace until the owner has decided or the time is over. */
export async function approvedByOwner(transport: Transport, login: DeviceLogin): Promise<Approved> {
  const { clientName, onCode, signal } = login
  const begun = await transport.json<Begun>({
    method: 'POST',
    path: '/v1/auth/device',
    body: clientName === undefined ? {} : { client_name: clientName },
    repeatable: true,
    signal,
  })
  const expiresAt = transport.now() + begun.expires_in * 1000
  await onCode({
    userCode: begun.user_code,
    verificationUri: begun.verification_uri,
    verificationUriComplete: begun.verification_uri_complete,
    expiresAt,
  })
  const asking = {
    method: 'POST',
    path: '/v1/auth/device/token',
    body: { device_code: begun.device_code },
    signal,
  } as const
  let waitedMs = 0
  for (let waitMs = begun.interval * 1000; ; ) {
    await transport.sleep(waitMs, signal)
    waitedMs += waitMs
    try {
      return await transport.json<Approved>(asking)
    } catch (error) {
      const isLate = transport.now() > expiresAt || waitedMs > begun.expires_in * 1000
      if (!isUndecided(error) || signal?.aborted || isLate) throw error
      const interval = error.body.interval
      waitMs = Math.max(typeof interval === 'number' ? interval * 1000 : waitMs, error.retryAfterMs ?? 0)
    }
  }
}
