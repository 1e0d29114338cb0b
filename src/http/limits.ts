import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Caller } from '../kernel/caller.ts'
import { Fault } from '../kernel/errors.ts'
import type { GuessGuard, Limiter, Quota, SignInGuard, Standing } from '../kernel/limiter.ts'
import { clientAddress } from './client-address.ts'
import type { Route } from './route.ts'
import type { ServerOptions } from './server.ts'

/** Requests per minute, as configured. */
export interface LimitSettings {
  readonly requestsPerMinutePerCredential: number
  readonly authRequestsPerMinutePerAddress: number
  readonly topupRequestsPerMinutePerAddress: number
}

/** The limits that the HTTP floor holds requests to. docs/limits.md says the same in words. */
type Quotas = Readonly<
  Record<
    | 'credential'
    | 'auth'
    | 'topup'
    | 'public'
    | 'failedCredentials'
    | 'failedSignIns'
    | 'walletFailures'
    | 'walletFailureHere'
    | 'codeGuesses'
    | 'codeGuessesHere',
    Quota
  >
>

const MINUTE_MS = 60_000

/** The quotas that follow from the three settings. */
function quotasFrom(settings: LimitSettings): Quotas {
  const {
    requestsPerMinutePerCredential: credential,
    authRequestsPerMinutePerAddress: auth,
    topupRequestsPerMinutePerAddress: topup,
  } = settings
  const quota = (name: string, requests: number): Quota =>
    Object.freeze({ name, requests: Math.max(1, Math.floor(requests)), windowMs: MINUTE_MS })
  return {
    credential: quota('credential', credential),
    auth: quota('auth', auth),
    topup: quota('topup', topup),
    // whoever needs no credential is given as much as one credential
    public: quota('public', credential),
    failedCredentials: quota('failed-credentials', auth),
    failedSignIns: quota('failed-sign-ins', auth / 3),
    walletFailures: quota('failed-sign-ins-of-wallet', auth / 6),
    // not a limit by itself: remembers that an address has failed with a wallet
    walletFailureHere: quota('failed-sign-in-of-wallet-here', 1),
    codeGuesses: quota('unknown-codes-of-account', auth / 6),
    codeGuessesHere: quota('unknown-codes', auth / 3),
  }
}

/** What the limits give to others: hooks for the server, and guards for the services that check sign-ins and codes. */
export interface RequestLimits extends Required<Pick<ServerOptions, 'admit' | 'refused'>> {
  readonly signInGuard: SignInGuard
  readonly guessGuard: GuessGuard
}

/**
 * Holds requests to their quotas: by credential once it is recognised, by client address where none is asked
 * for, and by client address for credentials and sign-ins that failed. While counts cannot be known (the
 * database is away), routes with limit `auth` and `topup` refuse with `unavailable`; the others go on, since money
 * fails closed without the database anyway.
 */
export function createRequestLimits({
  limiter,
  settings,
}: {
  readonly limiter: Limiter
  readonly settings: LimitSettings
}): RequestLimits {
  const quotas = quotasFrom(settings)

  async function admitByAddress(
    request: FastifyRequest,
    route: Route,
    caller: Caller | undefined,
    reply: FastifyReply,
  ): Promise<void> {
    const address = clientAddress(request)
    if (route.limit === 'auth') {
      const failed = limiter.spent(quotas.failedSignIns, address)
      if (failed) settle(quotas.failedSignIns, failed, reply, false)
    }
    const quota = route.limit === 'auth' ? quotas.auth : route.limit === 'topup' ? quotas.topup : quotas.public
    settle(quota, await limiter.take(quota, address), reply, route.limit !== undefined)
    if (caller) settle(quotas.credential, await limiter.take(quotas.credential, credentialKey(caller)), reply, false)
  }

  return {
    admit(request, route, caller, reply) {
      if (route.limit === 'unlimited') return
      if (route.limit !== undefined || !caller) return admitByAddress(request, route, caller, reply)
      const standing = limiter.take(quotas.credential, credentialKey(caller))
      if (standing instanceof Promise) return standing.then((later) => settle(quotas.credential, later, reply, false))
      settle(quotas.credential, standing, reply, false)
    },

    async refused(request, route, fault, reply) {
      // a credential that turns out to be dead is counted like one that never was, and its own limit is not shown
      const credentialFailed =
        fault.refusal.type === 'authentication_error' ||
        (route.access !== 'public' && !request.caller_ && fault.refusal.status < 500)
      if (!credentialFailed || route.limit === 'unlimited') return fault
      for (const name of limitHeaders) reply.removeHeader(name)
      const quota = route.limit === 'auth' ? quotas.failedSignIns : quotas.failedCredentials
      const standing = await limiter.take(quota, clientAddress(request))
      if (!standing) return fault
      describe(quota, standing, reply)
      return standing.allowed ? fault : tooMany(quota, standing)
    },

    signInGuard: guardSignIns(limiter, quotas),
    guessGuard: guardGuesses(limiter, quotas),
  }
}

function guardSignIns(limiter: Limiter, quotas: Quotas): SignInGuard {
  return {
    async attempt({ wallet, address }, signIn) {
      const key = wallet.toLowerCase()
      const here = `${key} ${address}`
      const spent = limiter.spent(quotas.walletFailures, key)
      if (spent && limiter.spent(quotas.walletFailureHere, here)) throw tooMany(quotas.walletFailures, spent)
      try {
        return await signIn()
      } catch (error) {
        if (!(error instanceof Fault) || error.refusal.status !== 401) throw error
        const [ofWallet, firstHere] = await Promise.all([
          limiter.take(quotas.walletFailures, key),
          limiter.take(quotas.walletFailureHere, here),
        ])
        if (ofWallet && firstHere && !ofWallet.allowed && !firstHere.allowed)
          throw tooMany(quotas.walletFailures, ofWallet)
        throw error
      }
    },
  }
}

function guardGuesses(limiter: Limiter, { codeGuesses, codeGuessesHere }: Quotas): GuessGuard {
  return {
    async attempt({ accountId, address }, work) {
      const counted = [
        [codeGuesses, String(accountId)],
        [codeGuessesHere, address],
      ] as const
      for (const [quota, key] of counted) {
        const spent = limiter.spent(quota, key)
        if (spent) throw tooMany(quota, spent)
      }
      try {
        return await work()
      } catch (error) {
        if (!(error instanceof Fault) || error.code !== 'device_login_not_found') throw error
        for (const [quota, key] of counted) {
          const standing = await limiter.take(quota, key)
          if (standing && !standing.allowed) throw tooMany(quota, standing)
        }
        throw error
      }
    },
  }
}

const limitHeaders = [
  'ratelimit-policy',
  'ratelimit',
  'x-ratelimit-limit-requests',
  'x-ratelimit-remaining-requests',
  'x-ratelimit-reset-requests',
]

function credentialKey({ credential }: Caller): string {
  return `${credential.kind} ${credential.id}`
}

/** Describes the standing on the answer and refuses when it says so. `closed`: an unknown standing refuses too. */
function settle(quota: Quota, standing: Standing | undefined, reply: FastifyReply, closed: boolean): void {
  if (standing === undefined) {
    if (closed)
      throw new Fault('unavailable', {
        message: 'The database cannot be reached, so requests to this endpoint cannot be counted and are refused.',
        retryAfterMs: 1000,
      })
    return
  }
  describe(quota, standing, reply)
  if (!standing.allowed) throw tooMany(quota, standing)
}

/** The standard's header fields, and the older ones that OpenAI's clients read. */
function describe({ name, requests, windowMs }: Quota, { remaining, resetMs }: Standing, reply: FastifyReply): void {
  const seconds = Math.ceil(resetMs / 1000)
  reply.header('ratelimit-policy', `"${name}";q=${requests};w=${windowMs / 1000}`)
  reply.header('ratelimit', `"${name}";r=${remaining};t=${seconds}`)
  reply.header('x-ratelimit-limit-requests', String(requests))
  reply.header('x-ratelimit-remaining-requests', String(remaining))
  reply.header(
    'x-ratelimit-reset-requests',
    seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`,
  )
}

function tooMany({ name, requests, windowMs }: Quota, { resetMs }: Standing): Fault {
  const seconds = Math.ceil(resetMs / 1000)
  return new Fault('rate_limited', {
    message: `The limit "${name}" allows ${requests} in ${windowMs / 1000} seconds and is used up. Try again in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`,
    fields: {
      limit_name: name,
      limit_requests: String(requests),
      limit_window_seconds: String(windowMs / 1000),
      retry_after_seconds: String(seconds),
    },
    retryAfterMs: resetMs,
  })
}
