import type { Database, Tx } from '../../db/database.ts'
import { recordAction } from '../../identity/audit-log/service.ts'
import { list as listKeys, revokeAlive } from '../../identity/keys/store.ts'
import { revokeAlive as endAlive } from '../../identity/sessions/store.ts'
import { Fault } from '../../kernel/errors.ts'
import type { By } from '../by.ts'
import * as store from './store.ts'

/**
 * Revokes one key of an account: no call that begins after this is charged to it. A key that was revoked before stays as
 * it was, and nothing is recorded. Refuses with `api_key_not_found`.
 */
export async function revokeKey(
  db: Database,
  which: { readonly accountId: bigint; readonly keyId: bigint },
  by: By,
): Promise<{ readonly changed: boolean }> {
  const { accountId, keyId: id } = which
  if ((await listKeys(db, { accountId, id })).length === 0) throw new Fault('api_key_not_found')
  return db.transaction().execute(async (tx) => {
    const changed = (await revokeAlive(tx, { accountId, id })) > 0n
    if (changed) await record(tx, 'revoke.api_key', id, by)
    return { changed }
  })
}

/** Revokes every key of an account that is not revoked. Gives how many that were. Refuses with `account_not_found`. */
export async function revokeAllKeys(db: Database, accountId: bigint, by: By): Promise<{ readonly revoked: bigint }> {
  return db.transaction().execute(async (tx) => {
    if (!(await store.exists(tx, accountId))) throw new Fault('account_not_found')
    const revoked = await revokeAlive(tx, { accountId })
    if (revoked > 0n) await record(tx, 'revoke_all.api_keys', accountId, by)
    return { revoked }
  })
}

/** Ends every session of an account, which signs in again then; its keys stay. Gives how many there were. Refuses with `account_not_found`. */
export async function signOut(db: Database, accountId: bigint, by: By): Promise<{ readonly ended: bigint }> {
  return db.transaction().execute(async (tx) => {
    if (!(await store.exists(tx, accountId))) throw new Fault('account_not_found')
    const ended = await endAlive(tx, accountId)
    if (ended > 0n) await record(tx, 'revoke_all.sessions', accountId, by)
    return { ended }
  })
}

function record(
  tx: Tx,
  action: 'revoke.api_key' | 'revoke_all.api_keys' | 'revoke_all.sessions',
  targetId: bigint,
  { operator, reason, requestId }: By,
): Promise<void> {
  return recordAction(tx, { actor: operator, action, targetId, reason, requestId })
}
