import type { Database } from '../../db/database.ts'
import { assert } from '../../kernel/assert.ts'
import { Fault } from '../../kernel/errors.ts'
import type { GuessGuard } from '../../kernel/limiter.ts'
import type { Random } from '../../kernel/random.ts'
import { requireOwner } from '../accounts/requirement.ts'
import { recordAction } from '../audit-log/service.ts'
import type { SessionOpener, TokenPair } from '../sign-in.ts'
import { deviceCodeHash, newDeviceCode, newUserCode, shownUserCode, userCodeFrom } from './codes.ts'
import { type Event, isRefusal, stepOf } from './states.ts'
import * as store from './store.ts'

/** What logins of programs need from outside. */
export interface DeviceDeps {
  readonly db: Database
  readonly random: Random
  readonly sessions: SessionOpener
  readonly guessGuard: GuessGuard
}

/** From the first request until tokens are given. */
export const LIFETIME_SECONDS = 600
/** How long a program waits between two questions, at first. */
export const INTERVAL_SECONDS = 5
/** Taken user codes that are met before it is given up: two are 1 in 25 thousand million apart. */
const COLLISIONS_MAX = 5

/** Begins a login of a program that calls itself `clientName` and asks from `network`. */
export async function beginDeviceLogin(
  deps: DeviceDeps,
  asking: { clientName: string; network: string },
): Promise<{ deviceCode: string; userCode: string }> {
  for (let attempt = 0; attempt < COLLISIONS_MAX; attempt++) {
    const [deviceCode, userCode] = [newDeviceCode(deps.random), newUserCode(deps.random)]
    const inserted = await store.insert(deps.db, {
      deviceCodeHash: deviceCodeHash(deviceCode),
      userCode,
      ...asking,
      lifetimeSeconds: LIFETIME_SECONDS,
      intervalSeconds: INTERVAL_SECONDS,
    })
    if (inserted) return { deviceCode, userCode: shownUserCode(userCode) }
  }
  throw new Fault('unavailable')
}

/** A program that was approved. */
export interface SignedInDevice {
  readonly accountId: bigint
  readonly pair: TokenPair
}

/**
 * Asks what became of a login; gives its tokens once. Refuses with `authorization_pending` and `slow_down`, both with
 * how long to wait, and for good with `access_denied`, `expired_token`, `account_banned` or `account_deactivated`.
 */
export async function pollDeviceLogin(
  deps: DeviceDeps,
  asking: { deviceCode: string; userAgent: string | undefined },
): Promise<SignedInDevice> {
  const hash = deviceCodeHash(asking.deviceCode)
  const polled = await store.notePoll(deps.db, hash)
  if (polled) {
    const step = stepOf(polled.tooSoon ? 'poll_too_soon' : 'poll', 'pending')
    assert(isRefusal(step), `a pending login was polled and is ${step}`)
    throw new Fault(step, { retryAfterMs: polled.intervalSeconds * 1000, fields: { interval: polled.intervalSeconds } })
  }
  const session = await deps.db.transaction().execute(async (tx) => {
    const completed = await store.complete(tx, hash)
    if (!completed) return undefined
    const { accountId, status, clientName } = completed
    // undone whole: the login stays approved until it lapses
    if (status !== 'active') throw new Fault(status === 'banned' ? 'account_banned' : 'account_deactivated')
    return deps.sessions.start(tx, { accountId, device: clientName || asking.userAgent })
  })
  if (session) return { accountId: session.accountId, pair: await deps.sessions.issue(session) }
  const step = stepOf('poll', await store.standing(deps.db, hash))
  // who asked at the same moment was faster: what is left is what the code is worth now
  throw new Fault(isRefusal(step) ? step : 'expired_token')
}

/** A person who looks at a login or decides it. */
export interface Decider {
  readonly ownerId: bigint
  /** As it was typed. */
  readonly userCode: string
  readonly address: string
}

/** The login with this user code. Refuses with `owner_account_required`, `device_login_not_found`, and with `rate_limited` whoever guesses. */
export async function lookUpDeviceLogin(deps: DeviceDeps, who: Decider): Promise<store.DeviceLogin> {
  await requireOwner(deps.db, who.ownerId)
  return guarded(deps, who, async (userCode) => {
    const login = await store.find(deps.db, { userCode, ownerId: who.ownerId })
    refuse('look', login)
    return login
  })
}

/** Approves or denies a login; repeating a decision changes nothing. Refuses as `lookUpDeviceLogin` does, and with `device_login_decided`. */
export async function decideDeviceLogin(
  deps: DeviceDeps,
  who: Decider & { readonly event: 'approve' | 'deny'; readonly requestId: string },
): Promise<store.DeviceLogin> {
  const { ownerId, event, requestId } = who
  await requireOwner(deps.db, ownerId)
  return guarded(deps, who, (userCode) =>
    deps.db.transaction().execute(async (tx) => {
      const decided = await store.decide(tx, { userCode, ownerId, event })
      if (!decided) {
        const login = await store.find(tx, { userCode, ownerId })
        refuse(event, login)
        return login
      }
      await recordAction(tx, {
        actor: { kind: 'account', id: ownerId },
        action: `${event}.device_login`,
        targetId: decided.id,
        after: { client_name: decided.client_name, network: decided.network },
        requestId,
      })
      return decided
    }),
  )
}

function guarded<T>(deps: DeviceDeps, who: Decider, work: (userCode: string) => Promise<T>): Promise<T> {
  const userCode = userCodeFrom(who.userCode)
  return deps.guessGuard.attempt({ accountId: who.ownerId, address: who.address }, async () => {
    if (userCode === undefined) throw new Fault('device_login_not_found')
    return work(userCode)
  })
}

function refuse(event: Event, login: store.DeviceLogin | undefined): asserts login is store.DeviceLogin {
  const step = stepOf(event, login?.status ?? 'lapsed')
  if (isRefusal(step)) throw new Fault(step)
}
