import type { Database, Tx } from '../../db/database.ts'
import { assert } from '../../kernel/assert.ts'
import { Fault } from '../../kernel/errors.ts'
import { type AccountRow, find } from './store.ts'

/** The account of an accepted credential, if it is an owner. Refuses with `owner_account_required`. */
export async function requireOwner(db: Database | Tx, accountId: bigint): Promise<AccountRow> {
  const account = await holder(db, accountId)
  if (account.account_type !== 'owner') throw new Fault('owner_account_required')
  return account
}

/** The account of an accepted credential, if it is an Agent. Refuses with `agent_account_required`. */
export async function requireAgent(db: Database | Tx, accountId: bigint): Promise<AccountRow> {
  const account = await holder(db, accountId)
  if (account.account_type !== 'agent') throw new Fault('agent_account_required')
  return account
}

async function holder(db: Database | Tx, accountId: bigint): Promise<AccountRow> {
  const account = await find(db, accountId)
  assert(account, `account ${accountId} has a credential and no row`)
  return account
}
