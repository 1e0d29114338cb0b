import { ApiError } from '../api/error.ts'
import { send } from '../api/transport.ts'
import { openChannel } from './channel.ts'

/** Who is signed in, as sign-in and refresh tell it. */
export interface Account {
  readonly id: number
  readonly account_type: 'owner' | 'agent'
  readonly wallet_address: string
  readonly email: string
  readonly role: 'user' | 'admin'
}

/** What a sign-in or refresh answers; its refresh token is in a cookie that no script reads. */
export interface SignedIn {
  readonly account: Account
  readonly tokens: { readonly access_token: string; readonly expires_in: number }
}

/** What the pages know of the session. `unknown` lasts until the first refresh was answered. */
export type SessionState =
  | { readonly status: 'unknown' }
  | { readonly status: 'signed-out'; readonly because?: ApiError }
  /** The server knows who it is and lets the account do nothing. */
  | { readonly status: 'shut-out'; readonly because: ApiError }
  | { readonly status: 'signed-in'; readonly account: Account }

interface Held {
  readonly token: string
  readonly account: Account
  /** Of Date.now(). */
  readonly expiresAt: number
}

const shutOut: ReadonlySet<string> = new Set(['account_banned', 'account_deactivated'])

/** Not a credential: whether this browser has a session at all, so that a first visit asks the server nothing. */
const MARK = 'farebox:has-session'
const REFRESH_LOCK = 'farebox:refresh'
/** Renewed this long before its end, so that no request meets a token that just died. */
const EARLY_MS = 60_000
/** How long a tab waits for another one to share its token before it asks the server. */
const ASK_MS = 120

/** Every request of a page that keeps its refresh token in a cookie says so. */
export const asCookie = { 'x-farebox-session': 'cookie' } as const

/**
 * The session of this browser. The access token lives in memory only; tabs share it through a channel and take turns
 * to refresh (spec 5.9), so that one refresh token is never exchanged twice.
 */
function createSession() {
  let held: Held | undefined
  let state: SessionState = { status: 'unknown' }
  const listeners = new Set<() => void>()
  const channel = openChannel<Held>({
    give: () => (isFresh(held) ? held : undefined),
    onGiven: (given) => take(given),
    onSignedOut: () => forget(undefined),
  })

  function show(next: SessionState): void {
    state = next
    for (const listener of listeners) listener()
  }
  const mark = (has: boolean): void => (has ? localStorage.setItem(MARK, 'yes') : localStorage.removeItem(MARK))
  function take(given: Held): void {
    if (held && held.expiresAt >= given.expiresAt) return
    held = given
    mark(true)
    show({ status: 'signed-in', account: given.account })
  }
  function forget(because: ApiError | undefined): void {
    held = undefined
    mark(false)
    show(because ? { status: 'signed-out', because } : { status: 'signed-out' })
  }
  /** Takes note of a refusal that is about the account, not about what was asked. */
  function heed(error: unknown): void {
    if (!(error instanceof ApiError) || !shutOut.has(error.code)) return
    show({ status: 'shut-out', because: error })
  }
  function keep({ account, tokens }: SignedIn): Held {
    const next = { token: tokens.access_token, account, expiresAt: Date.now() + tokens.expires_in * 1000 }
    take(next)
    channel.share(next)
    return next
  }

  /** One tab at a time; whoever waited looks first whether another tab has renewed meanwhile. */
  const renew = (dead: string | undefined): Promise<string> =>
    navigator.locks.request(REFRESH_LOCK, async () => {
      if (!isFresh(held) || held.token === dead) await channel.ask(ASK_MS)
      if (isFresh(held) && held.token !== dead) return held.token
      try {
        const renewed = await send<SignedIn>('/v1/auth/refresh', { method: 'POST', body: {}, headers: asCookie })
        return keep(renewed).token
      } catch (error) {
        if (error instanceof ApiError && error.status === 401) forget(error)
        heed(error)
        throw error
      }
    })

  return {
    get state() {
      return state
    },
    subscribe(listener: () => void) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    /** The first thing a page does: takes up the session of this browser, if it has one. */
    async restore(): Promise<void> {
      if (state.status !== 'unknown') return
      if (localStorage.getItem(MARK) === null) show({ status: 'signed-out' })
      else await renew(undefined).then(undefined, () => state.status === 'unknown' && forget(undefined))
    },
    heed,
    /** Whoever is shut out goes to the sign-in, to come in as somebody else. */
    leave: () => forget(undefined),
    /** A sign-in was answered. */
    begin: (answer: SignedIn) => void keep(answer),
    /** The token to send; renewed when it is about to end. */
    accessToken: async () => (isFresh(held) ? held.token : renew(undefined)),
    /** Another token than `dead`, which the server refused. */
    renewed: (dead: string) => renew(dead),
    /** Ends the session on the server and in every tab. Confirmed only by the server's word (spec 5.6). */
    async end(): Promise<void> {
      await navigator.locks.request(REFRESH_LOCK, () =>
        send('/v1/auth/logout', { method: 'POST', body: {}, headers: asCookie }),
      )
      channel.signOut()
      forget(undefined)
    },
    /** The server ended the session by another request of ours, such as "sign out everywhere". */
    wasEnded(): void {
      channel.signOut()
      forget(undefined)
    },
  }
}

const isFresh = (held: Held | undefined): held is Held => held !== undefined && held.expiresAt - EARLY_MS > Date.now()

/** The one session of this tab. */
export const session = createSession()
