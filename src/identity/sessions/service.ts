import type { Database } from '../../db/database.ts'
import type { Authenticator, Caller } from '../../kernel/caller.ts'
import { Fault } from '../../kernel/errors.ts'
import type { Random } from '../../kernel/random.ts'
import { recordAction } from '../audit-log/service.ts'
import type { LiveSession, SessionOpener, TokenPair } from '../sign-in.ts'
import type { Tokens, Verified } from '../tokens/service.ts'
import * as store from './store.ts'

/** What sessions need from outside. */
export interface SessionDeps {
  readonly db: Database
  readonly random: Random
  readonly tokens: Tokens
}

/** After this long a session ends, however often its tokens were exchanged (decisions 2). */
const LIFETIME_SECONDS = 90 * 24 * 60 * 60
const DEVICE_LENGTH_MAX = 160
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Begins sessions and signs their tokens. */
export function sessionOpener({ random, tokens }: Pick<SessionDeps, 'random' | 'tokens'>): SessionOpener {
  return {
    start: (tx, { accountId, device }) =>
      store.insert(tx, {
        sid: random.uuid(),
        accountId,
        device: deviceLabel(device),
        lifetimeSeconds: LIFETIME_SECONDS,
      }),
    issue: (session) => issue(tokens, session),
  }
}

/**
 * Exchanges a refresh token, once (spec 3.6). Refuses with `invalid_refresh_token`, with `refresh_token_reused` when
 * it was exchanged before or somebody was faster, and with `account_banned` or `account_deactivated`; the session
 * goes on in all these cases.
 */
export async function refresh(
  deps: SessionDeps,
  refreshToken: string,
): Promise<{ accountId: bigint; pair: TokenPair }> {
  const presented = await readRefreshToken(deps.tokens, refreshToken)
  if (!presented) throw new Fault('invalid_refresh_token')
  const advanced = await store.advance(deps.db, presented)
  if (advanced) return { accountId: presented.accountId, pair: await issue(deps.tokens, advanced) }
  const row = await store.findBySid(deps.db, presented.sid)
  if (!row || row.account_id !== presented.accountId) throw new Fault('invalid_refresh_token')
  refuseInactive(row.status)
  throw new Fault(row.alive ? 'refresh_token_reused' : 'invalid_refresh_token')
}

/** Ends the session of a refresh token that is validly signed and unexpired, even if it was exchanged before (spec 3.6). Ending it twice is fine. */
export async function logout(deps: SessionDeps, refreshToken: string): Promise<void> {
  const presented = await readRefreshToken(deps.tokens, refreshToken)
  if (!presented) throw new Fault('invalid_refresh_token')
  await store.revoke(deps.db, { accountId: presented.accountId, sid: presented.sid })
}

/** Ends one session of an account, or all of them, on the account's own word. Gives how many there are. */
export async function endSessions(
  db: Database,
  { requestId, ...which }: { accountId: bigint; id?: bigint; requestId: string },
): Promise<bigint> {
  return db.transaction().execute(async (tx) => {
    const count = await store.revoke(tx, which)
    if (count > 0n) {
      await recordAction(tx, {
        actor: { kind: 'account', id: which.accountId },
        action: which.id === undefined ? 'revoke_all.sessions' : 'revoke.session',
        targetId: which.id ?? which.accountId,
        requestId,
      })
    }
    return count
  })
}

/** Whether this refresh token could be exchanged now. Does not exchange it. */
export async function wouldRefresh(deps: SessionDeps, refreshToken: string): Promise<boolean> {
  const presented = await readRefreshToken(deps.tokens, refreshToken)
  const row = presented && (await store.findBySid(deps.db, presented.sid))
  return row?.alive === true && row.account_id === presented?.accountId && row.generation === presented.generation
}

/** As many sessions are remembered at most: which account a session belongs to never changes. */
const REMEMBERED_MAX = 50_000

/** Checks access tokens. `recognise` leaves to the ledger whether the session still lives. */
export function sessionAuthenticator({
  db,
  tokens,
}: Pick<SessionDeps, 'db' | 'tokens'>): Authenticator & { flushUsed(): Promise<void> } {
  const remembered = new Map<string, Caller>()
  const used = new Set<bigint>()

  async function lookUp({
    sid,
    accountId,
  }: {
    sid: string
    accountId: bigint
  }): Promise<{ caller: Caller; row: store.SessionRow }> {
    const row = await store.findBySid(db, sid)
    if (!row || row.account_id !== accountId) throw new Fault('unauthorized')
    const caller: Caller = { accountId, credential: { kind: 'session', id: row.id } }
    if (remembered.size >= REMEMBERED_MAX) remembered.delete(remembered.keys().next().value as string)
    remembered.set(sid, caller)
    return { caller, row }
  }

  async function read(token: string): Promise<{ sid: string; accountId: bigint }> {
    const verified = await tokens.verify('access', token)
    const sid = verified && sidOf(verified)
    if (!verified || !sid) throw new Fault('unauthorized')
    return { sid, accountId: verified.accountId }
  }

  return {
    async authenticate(token) {
      const { caller, row } = await lookUp(await read(token))
      if (!row.alive) throw new Fault('unauthorized')
      refuseInactive(row.status)
      used.add(row.id)
      return row.role === 'admin' ? { ...caller, admin: true } : caller
    },
    async recognise(token) {
      const presented = await read(token)
      const caller = remembered.get(presented.sid) ?? (await lookUp(presented)).caller
      if (caller.accountId !== presented.accountId) throw new Fault('unauthorized')
      used.add(caller.credential.id)
      return caller
    },
    async flushUsed() {
      if (used.size === 0) return
      const ids = [...used]
      used.clear()
      await store.touch(db, ids)
    },
  }
}

/** The tokens of a session's generation. The refresh token never outlives the session. */
async function issue(tokens: Tokens, { sid, accountId, generation, now, expiresAt }: LiveSession): Promise<TokenPair> {
  const token = { accountId, claims: { sid, gen: generation }, issuedAt: now, notAfter: expiresAt }
  return {
    accessToken: await tokens.sign('access', token),
    refreshToken: await tokens.sign('refresh', token),
  }
}

async function readRefreshToken(
  tokens: Tokens,
  token: string,
): Promise<{ sid: string; accountId: bigint; generation: number } | undefined> {
  const verified = await tokens.verify('refresh', token)
  const sid = verified && sidOf(verified)
  const generation = verified?.claims.gen
  if (!verified || !sid || typeof generation !== 'number' || !Number.isSafeInteger(generation) || generation < 0)
    return undefined
  return { sid, accountId: verified.accountId, generation }
}

/** The session that a token names. Tokens from before there were sessions name none, and are refused (spec 3.6). */
function sidOf({ claims }: Verified): string | undefined {
  return typeof claims.sid === 'string' && UUID.test(claims.sid) ? claims.sid : undefined
}

function refuseInactive(status: store.SessionRow['status']): void {
  if (status !== 'active') throw new Fault(status === 'banned' ? 'account_banned' : 'account_deactivated')
}

/** What a list of sessions shows of a User-Agent: printable and short. */
function deviceLabel(userAgent: string | undefined): string {
  return (userAgent ?? '')
    .replace(/[^\x20-\x7e]+/g, ' ')
    .trim()
    .slice(0, DEVICE_LENGTH_MAX)
}
