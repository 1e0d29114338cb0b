import type { Database, Tx } from '../../db/database.ts'
import type { Authenticator, Caller } from '../../kernel/caller.ts'
import { Fault } from '../../kernel/errors.ts'
import type { Random } from '../../kernel/random.ts'
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
  readonly budget?: store.BudgetLimits
}

/** Makes a key. The full secret is in this answer and nowhere else, ever. */
export async function createKey(
  deps: KeyDeps,
  wanted: NewKey,
): Promise<{ id: bigint; secret: string }> {
  return deps.db.transaction().execute((tx) => createKeyIn(tx, deps, wanted))
}

/** The same inside a transaction that does more. */
async function createKeyIn(
  tx: Tx,
  deps: Pick<KeyDeps, 'random' | 'pepper'>,
  wanted: NewKey,
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
  return { id, secret }
}

/** Makes an account's first key, once: an account that ever had one gets none. The account's row is locked by the caller. */
export function firstKeyMaker(deps: Pick<KeyDeps, 'random' | 'pepper'>): FirstKey {
  return async (tx, accountId) =>
    (await store.hasAny(tx, accountId))
      ? undefined
      : (await createKeyIn(tx, deps, { accountId, name: 'first key' })).secret
}

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
    if (remembered.size >= REMEMBERED_MAX)
      remembered.delete(remembered.keys().next().value as string)
    remembered.set(hash.toString('base64'), caller)
    return { caller, row }
  }

  return {
    async authenticate(token) {
      const { caller, row } = await lookUp(token)
      if (!row.alive) throw new Fault('unauthorized')
      if (row.status !== 'active')
        throw new Fault(row.status === 'banned' ? 'account_banned' : 'account_deactivated')
      used.add(row.id)
      return caller
    },
    async recognise(token) {
      if (!isWellFormed(token)) throw new Fault('unauthorized')
      const caller =
        remembered.get(keyHash(token, deps.pepper).toString('base64')) ??
        (await lookUp(token)).caller
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
