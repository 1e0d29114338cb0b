import type { Caller } from '../../kernel/caller.ts'
import { type ErrorCode, Fault } from '../../kernel/errors.ts'
import { coinText, usdText } from './amounts.ts'
import type { AxonDeps } from './deps.ts'
import { apply, observe, readHead } from './look.ts'
import { type Coin, OPEN_CLAIMS_MAX, REFUSED_CLAIMS_MAX } from './settings.ts'
import * as store from './store.ts'

/** Nodes are not asked about the same claim more often than this, however often it is sent. */
const LOOK_AGAIN_MS = 1_000

/** Refusals of a claim that failed; each is a reason that a claim can have. */
const failures = {
  wrong_payer: 'wrong_payer',
  wrong_recipient: 'wrong_recipient',
  amount_below_minimum: 'amount_below_minimum',
  tx_failed: 'tx_failed',
  tx_not_found: 'tx_not_found',
  tx_already_claimed: 'tx_already_claimed',
} as const satisfies Record<string, ErrorCode>

/**
 * Takes a hash as the caller's payment and looks at the chain at once; what cannot be decided yet is followed by the
 * worker. Gives a claim that is pending, confirming, in review or completed. Sending the same hash again gives the same
 * claim. Refuses with `invalid_tx_hash`, `wallet_not_linked`, `asset_unavailable`, `too_many_open_claims`,
 * `tx_already_claimed`, and with what keeps the payment from being the caller's.
 */
export async function redeemHash(deps: AxonDeps, caller: Caller, given: string): Promise<store.Claim> {
  if (!/^0x[0-9a-fA-F]{64}$/.test(given)) throw new Fault('invalid_tx_hash', { fields: { field: 'tx_hash' } })
  const txHash = given.toLowerCase()
  const { coin } = deps
  if (!coin) throw new Fault('asset_unavailable', { message: 'No native token is taken here.' })
  if ((await deps.payerWallets(caller.accountId)).length === 0) throw new Fault('wallet_not_linked')
  const chainId = BigInt(coin.config.chainId)
  const claim = await deps.db.transaction().execute((tx) =>
    store.claim(tx, {
      accountId: caller.accountId,
      chainId,
      txHash,
      at: deps.clock.now(),
      openMax: OPEN_CLAIMS_MAX,
      refusedMax: REFUSED_CLAIMS_MAX,
    }),
  )
  if (claim === 'too_many')
    throw new Fault('too_many_open_claims', {
      message: `This account has ${OPEN_CLAIMS_MAX} transaction hashes that are still looked for, or ${REFUSED_CLAIMS_MAX} that were refused today. Wait, and send only hashes of your own payments.`,
      retryAfterMs: 60_000,
    })
  const seen = await lookNow(deps, coin, claim)
  if (seen.status === 'pending' || seen.status === 'confirming') deps.wake()
  if (seen.status === 'failed' || seen.status === 'closed') throw await refusalOf(deps, coin, seen)
  return seen
}

/** Looks at the chain now. Whatever nodes do, the claim is there and is looked at again. */
async function lookNow(deps: AxonDeps, coin: Coin, claim: store.Claim): Promise<store.Claim> {
  const { looked_at: lookedAt, status } = claim
  const lookedLately = lookedAt !== null && deps.clock.now().getTime() - lookedAt.getTime() < LOOK_AGAIN_MS
  if (lookedLately || status === 'closed' || status === 'completed') return claim
  try {
    const [head, shown] = await Promise.all([readHead(coin), observe(coin, claim)])
    await apply(deps, coin, claim, shown, head)
  } catch (error) {
    deps.onTrouble('a native payment could not be looked at; it is tried again', error)
  }
  return (await store.find(deps.db, claim.id)) ?? claim
}

async function refusalOf(deps: AxonDeps, coin: Coin, claim: store.Claim): Promise<Fault> {
  const fields = { tx_hash: claim.tx_hash }
  const holder = await store.holderOf(deps.db, claim.chain_id, claim.tx_hash)
  if (claim.status === 'closed' || holder !== undefined)
    return new Fault('tx_already_claimed', {
      message:
        holder === undefined
          ? 'An operator closed this payment without Credits.'
          : `Credits were given for this transaction already: ${holder} has it.`,
      fields: { ...fields, claimed_by: holder ?? `axon:${claim.id}` },
    })
  const code = failures[claim.reason as keyof typeof failures]
  const message = explanations(coin, claim)[claim.reason ?? '']
  return new Fault(code, { ...(message ? { message } : {}), fields })
}

/** What is wrong, with the numbers of this claim. */
function explanations({ config }: Coin, claim: store.Claim): Readonly<Record<string, string>> {
  const { symbol, networkName, payToAddress, minTopupMicro } = config
  const sent = claim.received_wei === null ? '' : ` (${coinText(BigInt(claim.received_wei))} ${symbol})`
  return {
    wrong_payer: `${claim.payer_address} sent this transaction, which is no wallet of this account. Pay from a linked wallet; if the money is yours, contact the operator with this hash.`,
    wrong_recipient: `This transaction does not pay ${payToAddress} by itself. Only a plain transfer to that address counts: what a contract passes on inside a transaction does not.`,
    amount_below_minimum: `This transaction pays less${sent} than the smallest top-up of ${usdText(minTopupMicro)} dollars.`,
    tx_not_found: `No node of ${networkName} knew this transaction for 24 hours. If it is in a block by now, send the hash again.`,
  }
}
