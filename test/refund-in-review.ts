import { refundCall } from '../src/ledger/refunds.ts'
import { ledgerTransaction } from '../src/ledger/transaction.ts'
import type { TestDatabase } from './database.ts'

/** Asks for the refund of a call; gives its id, or why there is none. */
export async function applyForRefund(database: TestDatabase, callId: bigint, accountId: bigint): Promise<string> {
  const answer = await ledgerTransaction(database.db, (tx) =>
    refundCall(tx, { callId, accountId, reason: 'it broke off' }),
  )
  return 'refundId' in answer ? String(answer.refundId) : answer.kind
}

let last = 9_000_000n

/** A failed call of 700 microcredits from before this ledger, and the refund that was asked for it: it waits for an operator. */
export async function refundInReview(
  database: TestDatabase,
  account: bigint,
): Promise<{ readonly call: bigint; readonly id: string }> {
  last += 1n
  const call = last
  await database.sql(
    `insert into holds (id, request_id, actor_account_id, family_id, credential_kind, credential_id, category, subject, reserve_micro, wanted_micro, minimum_micro)
     values ($1::bigint, 'req_old' || $1::bigint, $2, $2, 'api_key', 1, 'chat', 'demo', 700, 700, 700)`,
    [call, account],
  )
  await database.sql(
    `insert into hold_resolutions (hold_id, kind, outcome, actual_micro) values ($1, 'captured', 'failed', 700)`,
    [call],
  )
  await database.sql(`insert into holds_without_allocations (hold_id, reason) values ($1, 'brought over')`, [call])
  return { call, id: await applyForRefund(database, call, account) }
}
