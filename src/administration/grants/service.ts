import type { Database } from '../../db/database.ts'
import { find } from '../../identity/accounts/store.ts'
import { operatorName, recordAction } from '../../identity/audit-log/service.ts'
import { assert } from '../../kernel/assert.ts'
import { Fault } from '../../kernel/errors.ts'
import type { Microcredits } from '../../kernel/money.ts'
import { grantCredits } from '../../ledger/grants.ts'
import type { By } from '../by.ts'
import * as store from './store.ts'

/** Kinds of Credits that an operator may give: purchased and refunded ones come from payments and refunds only. */
export const GIVEN_BUCKETS = ['promo', 'bonus'] as const

/** Credits that an operator gives, once for each `id`. */
export interface Gift {
  readonly id: string
  readonly accountId: bigint
  readonly amountMicro: Microcredits
  readonly bucket: (typeof GIVEN_BUCKETS)[number]
  /** undefined: they never expire. */
  readonly expiresAt: Date | undefined
}

/**
 * Gives Credits; however often and from however many sides it is asked with one id, they are given and recorded once, in
 * one transaction. Gives the grant of that id, which is another one than was asked for if the id was used before: `isSame`
 * tells. Refuses with `account_not_found` and `balance_limit`.
 */
export async function giveCredits(
  db: Database,
  { id, ...wanted }: Gift,
  { operator, reason, requestId }: By,
): Promise<{ readonly grant: store.GrantRow; readonly repeated: boolean }> {
  if ((await find(db, wanted.accountId)) === undefined) throw new Fault('account_not_found')
  const repeated = await db
    .transaction()
    .execute(async (tx) => {
      const grant = { ...wanted, source: 'operator', sourceId: id, reason, grantedBy: operatorName(operator) } as const
      const given = await grantCredits(tx, grant)
      if (!given.repeated)
        await recordAction(tx, {
          actor: operator,
          action: 'grant.credits',
          targetId: wanted.accountId,
          after: { grant_id: given.grantId, amount_micro: wanted.amountMicro, bucket: wanted.bucket },
          reason,
          requestId,
        })
      return given.repeated
    })
    .catch((error: unknown) => {
      if (store.isTooMuch(error)) throw new Fault('balance_limit', { cause: error })
      if (!store.isIdTaken(error)) throw error
      return true
    })
  const grant = await store.find(db, id)
  assert(grant, `grant ${id} was given and is not there`)
  return { grant, repeated }
}

/** Whether this grant is what was asked for. Its expiry is not compared: it may have been meant from now on, as in 90d. */
export function isSame(grant: store.GrantRow, { accountId, amountMicro, bucket }: Gift): boolean {
  return grant.account_id === accountId && grant.amount_micro === amountMicro && grant.bucket === bucket
}
