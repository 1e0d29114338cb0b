import type { Database, Tx } from '../../db/database.ts'
import type { Authenticator, Caller } from '../../kernel/caller.ts'
import { Fault } from '../../kernel/errors.ts'
import type { Random } from '../../kernel/random.ts'
import type { BudgetLimits } from '../accounts/store.ts'
import { type AuditEntry, recordAction } from '../audit-log/service.ts'
import type { FirstKey } from '../sign-in.ts'
import { isWellFormed, KEY_PREFIX, keyHash, newKey } from './secret.ts'
import * as store from './store.ts'

/** What keys need from outside. */
export interface KeyDeps {
  readonly db: Database
  readonly random: Random
  readonly pepper: Buffer
}

/** What a new key may be given. */
export interface NewKey {
  readonly accountId: bigint
  readonly name?: string
  readonly expiresAt?: Date
  readonly budget?: BudgetLimits
}

/** Who does something to keys, for the audit log. */
export type By = Pick<AuditEntry, 'actor' | 'reason' | 'requestId'>

/** Makes a key. The full secret is in this answer and nowhere else, ever. */
export async function createKey(
  deps: KeyDeps,
  wanted: NewKey,
  by: By = { actor: { kind: 'system', name: 'farebox' } },
): Promise<{ id: bigint; secret: string }> {
  return deps.db.transaction().execute((tx) => createKeyIn(tx, deps, wanted, by))
}

/** Revokes one key of an account, or all of them, at once: no call that begins after this is charged. Gives how many there are. */
export async function revokeKeys(
  deps: Pick<KeyDeps, 'db'>,
  which: { accountId: bigint; id?: bigint },
  by: By,
): Promise<bigint> {
  return deps.db.transaction().execute(async (tx) => {
    const count = await store.revokeOf(tx, which)
    if (count > 0n) {
      const target = which.id === undefined ? 'revoke_all.api_keys' : 'revoke.api_key'
      await recordAction(tx, { ...by, action: target, targetId: which.id ?? which.accountId })
    }
    return count
  })
}

/** The same inside a transaction that does more. */
async function createKeyIn(
  tx: Tx,
  deps: Pick<KeyDeps, 'random' | 'pepper'>,
  wanted: NewKey,
  by: By,
): Promise<{ id: bigint; secret: string }> {
  const secret = newKey(deps.random)
  const id = await store.insert(tx, {
    accountId: wanted.accountId,
    hash: keyHash(secret, deps.pepper),
    name: wanted.name ?? '',
    prefix: secret.slice(0, KEY_PREFIX.length + 4),
    last4: secret.slice(-4),
    expiresAt: wanted.expiresAt,
    budget: wanted.budget,
  })
  await recordAction(tx, {
    ...by,
    action: 'create.api_key',
    targetId: id,
    after: { account_id: Number(wanted.accountId), name: wanted.name ?? '' },
  })
  return { id, secret }
}

/** Makes an account's first key, once: an account that ever had one gets none. The account's row is locked by the caller. */
export function firstKeyMaker(deps: Pick<KeyDeps, 'random' | 'pepper'>): FirstKey {
  return async (tx, accountId) =>
    (await store.hasAny(tx, accountId))
      ? undefined
      : (await createKeyIn(tx, deps, { accountId, name: 'first key' }, byAccount(accountId))).secret
}

/** An account acting for itself. */
export const byAccount = (accountId: bigint, requestId?: string): By => ({
  actor: { kind: 'account', id: accountId },
  requestId,
})

/** How many keys are remembered at most. A remembered key only saves a look-up: it never decides. */
const REMEMBERED_MAX = 50_000

/** Checks API keys. Which account a key belongs to never changes, so that part may be remembered. */
export function keyAuthenticator(deps: KeyDeps): Authenticator & { flushUsed(): Promise<void> } {
  const remembered = new Map<string, Caller>()
  const used = new Set<bigint>()

  async function lookUp(token: string): Promise<{ caller: Caller; row: store.KeyRow }> {
    if (!isWellFormed(token)) throw new Fault('unauthorized')
    const hash = keyHash(token, deps.pepper)
    const row = await store.findByHash(deps.db, hash)
    if (!row) throw new Fault('unauthorized')
    const caller: Caller = {
      accountId: row.account_id,
      credential: { kind: 'api_key', id: row.id },
    }
    if (remembered.size >= REMEMBERED_MAX) remembered.delete(remembered.keys().next().value as string)
    remembered.set(hash.toString('base64'), caller)
    return { caller, row }
  }

  return {
    async authenticate(token) {
      const { caller, row } = await lookUp(token)
      if (!row.alive) throw new Fault('unauthorized')
      if (row.status !== 'active') throw new Fault(row.status === 'banned' ? 'account_banned' : 'account_deactivated')
      used.add(row.id)
      return caller
    },
    async recognise(token) {
      if (!isWellFormed(token)) throw new Fault('unauthorized')
      const caller = remembered.get(keyHash(token, deps.pepper).toString('base64')) ?? (await lookUp(token)).caller
      used.add(caller.credential.id)
      return caller
    },
    async flushUsed() {
      if (used.size === 0) return
      const ids = [...used]
      used.clear()
      await store.touch(deps.db, ids)
    },
  }
}
