import type { Database } from '../../db/database.ts'
import { type AccountRow, find } from '../../identity/accounts/store.ts'
import { assert } from '../../kernel/assert.ts'
import type { Caller } from '../../kernel/caller.ts'
import type { Clock } from '../../kernel/clock.ts'
import { Fault } from '../../kernel/errors.ts'
import { parseAmount, refuseOutsideLimits } from '../orders/amount.ts'
import type { Chains } from '../orders/chain-port.ts'
import { CONTEXT_LIFETIME_MS, type ContextTokens } from '../orders/context-port.ts'

/** What payment contexts need. */
export interface ContextDeps {
  readonly db: Database
  readonly clock: Clock
  readonly chains: Chains
  readonly contextTokens: Pick<ContextTokens, 'sign'>
  /** Where the console is, without a trailing slash. */
  readonly publicUrl: string
}

/** What a context was made of, for its maker to read before the payment page is opened. */
export interface MadeContext {
  readonly token: string
  readonly amountMicro: bigint
  readonly recipient: AccountRow
  readonly topupUrl: string
  readonly expiresAt: Date
}

/** Binds payer, credited account and exact amount for 15 minutes. Writes nothing and sends nothing. */
export async function makeContext(
  deps: ContextDeps,
  caller: Caller,
  wanted: { readonly amount_micro: string; readonly recipient_account_id?: number },
): Promise<MadeContext> {
  const amountMicro = parseAmount(wanted.amount_micro)
  const usable = deps.chains.assets().filter((asset) => asset.enabled)
  if (usable.length === 0)
    throw new Fault('asset_unavailable', {
      message: 'No asset can be paid with right now. Try again later.',
      retryAfterMs: 30_000,
    })
  const bound = (amounts: bigint[], better: (a: bigint, b: bigint) => boolean): bigint =>
    amounts.reduce((best, amount) => (better(amount, best) ? amount : best))
  const smallest = bound(
    usable.map((asset) => asset.min_amount_micro),
    (a, b) => a < b,
  )
  const largest = bound(
    usable.map((asset) => asset.max_amount_micro),
    (a, b) => a > b,
  )
  refuseOutsideLimits(amountMicro, smallest, largest, 'units of any asset')

  const recipientId = wanted.recipient_account_id === undefined ? caller.accountId : BigInt(wanted.recipient_account_id)
  const recipient = await find(deps.db, recipientId)
  // one answer for accounts that are not there and accounts that are not theirs
  if (recipientId !== caller.accountId && recipient?.owner_account_id !== caller.accountId) {
    throw new Fault('recipient_not_allowed', {
      message: `Account ${recipientId} is not an Agent that is linked to this account. Link it first, or leave recipient_account_id out.`,
    })
  }
  assert(recipient, `account ${recipientId} has a credential and no row`)
  const issuedAt = deps.clock.now()
  // tokens count whole seconds
  const expiresAt = new Date(Math.floor(issuedAt.getTime() / 1000) * 1000 + CONTEXT_LIFETIME_MS)
  const token = await deps.contextTokens.sign(
    { payerAccountId: caller.accountId, recipientAccountId: recipientId, amountMicro },
    issuedAt,
  )
  return {
    token,
    amountMicro,
    recipient,
    expiresAt,
    // in the fragment: no server log, proxy or Referer header ever has it
    topupUrl: `${deps.publicUrl}/topup#context=${encodeURIComponent(token)}`,
  }
}
