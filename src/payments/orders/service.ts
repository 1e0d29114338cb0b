import { createHash } from 'node:crypto'
import canonicalize from 'canonicalize'
import type { Database, Tx } from '../../db/database.ts'
import type { Caller } from '../../kernel/caller.ts'
import type { Clock } from '../../kernel/clock.ts'
import { Fault } from '../../kernel/errors.ts'
import { dividedRoundingDown, MICROCREDITS_MAX, MICROCREDITS_PER_CREDIT } from '../../kernel/money.ts'
import type { Random } from '../../kernel/random.ts'
import { parseAmount, refuseOutsideLimits } from './amount.ts'
import type { Asset, Chains } from './chain-port.ts'
import type { ContextTokens } from './context-port.ts'
import * as making from './making/store.ts'
import { OPEN_ORDERS_MAX, ORDER_LIFETIME_MS } from './states.ts'
import * as store from './store.ts'

/** What wallet orders need. */
export interface OrdersDeps {
  readonly db: Database
  readonly clock: Clock
  readonly random: Random
  readonly chains: Chains
  readonly contextTokens: Pick<ContextTokens, 'verify'>
  /** The verified wallets that are linked to an account now, lower-case, the one to pay from first. */
  readonly payerWallets: (accountId: bigint) => Promise<readonly string[]>
}

/** What an order is asked for with. */
export interface OrderWanted {
  readonly asset_id: string
  readonly amount_micro: string
  readonly idempotency_key: string
  readonly payment_context_token?: string
}

/** Makes an order, or gives the one that the same key and body made before. */
export async function createOrder(
  deps: OrdersDeps,
  caller: Caller,
  wanted: OrderWanted,
): Promise<{ readonly order: store.Order; readonly replayed: boolean }> {
  if (!/^[\x20-\x7e]{1,128}$/.test(wanted.idempotency_key)) {
    throw new Fault('invalid_idempotency_key', {
      message: 'idempotency_key must be 1 to 128 printable ASCII characters.',
      fields: { field: 'idempotency_key' },
    })
  }
  const fingerprint = createHash('sha256')
    .update(canonicalize(wanted) ?? '')
    .digest()
  // first: a retry of an order that was made meets no refusal that is newer than the order
  const before = await madeBefore(deps.db, caller, wanted.idempotency_key, fingerprint)
  if (before) return { order: before, replayed: true }

  const { asset, amountMicro, creditMicro } = priced(deps, wanted)
  const accountId = await creditedAccount(deps, caller, wanted, amountMicro)
  const payerAddress = await payerOf(deps, caller.accountId, asset)
  const id = deps.random.uuid()
  return deps.db.transaction().execute(async (tx) => {
    await making.lockPayer(tx, caller.accountId)
    const meanwhile = await madeBefore(tx, caller, wanted.idempotency_key, fingerprint)
    if (meanwhile) return { order: meanwhile, replayed: true }
    await refuseWhileInReview(tx, caller.accountId)
    const now = deps.clock.now()
    const open = await making.countOpen(tx, caller.accountId, now)
    if (open >= OPEN_ORDERS_MAX)
      throw new Fault('too_many_open_orders', {
        message: `This account has ${open} orders that wait for payment. Pay one of them, or wait until they expire.`,
        retryAfterMs: 60_000,
      })
    const order = await making.insert(tx, {
      id,
      payer_account_id: caller.accountId,
      account_id: accountId,
      payer_address: payerAddress,
      asset_id: asset.asset_id,
      chain_id: asset.chain_id,
      token_address: asset.token_address,
      recipient_address: asset.recipient_address,
      amount_micro: amountMicro,
      credit_micro: creditMicro,
      rate_ppm: asset.rate_ppm,
      idempotency_key: wanted.idempotency_key,
      idempotency_fingerprint: fingerprint,
      created_at: now,
      expires_at: new Date(now.getTime() + ORDER_LIFETIME_MS),
    })
    await store.record(tx, id, null, {
      event: 'create',
      to: 'pending',
      actor: `account:${caller.accountId}`,
      at: now,
    })
    return { order, replayed: false }
  })
}

/** Whether the payer has an order that an operator has to look at: nothing more is paid before that. */
export async function refuseWhileInReview(tx: Tx, payerAccountId: bigint): Promise<void> {
  const id = await making.inReview(tx, payerAccountId)
  if (id !== undefined)
    throw new Fault('review_unresolved', {
      message: `Order ${id} is in review. Nothing more can be paid until it is resolved: contact support with that order id.`,
    })
}

async function madeBefore(
  db: Database | Tx,
  caller: Caller,
  key: string,
  fingerprint: Buffer,
): Promise<store.Order | undefined> {
  const made = await making.findByKey(db, caller.accountId, key)
  if (made && !made.idempotency_fingerprint.equals(fingerprint)) {
    throw new Fault('idempotency_conflict', {
      message: `This idempotency_key made order ${made.id} with another body. Use a new key for a new order.`,
    })
  }
  return made
}

function priced(
  { chains }: OrdersDeps,
  wanted: OrderWanted,
): { asset: Asset; amountMicro: bigint; creditMicro: bigint } {
  const asset = chains.assets().find((candidate) => candidate.asset_id === wanted.asset_id)
  if (!asset) {
    const known = chains.assets().map((candidate) => candidate.asset_id)
    throw new Fault('unknown_asset', {
      message: `There is no asset ${JSON.stringify(wanted.asset_id.slice(0, 40))} here. Choose one of ${known.join(', ') || 'none'}.`,
      fields: { field: 'asset_id' },
    })
  }
  const amountMicro = parseAmount(wanted.amount_micro)
  refuseOutsideLimits(amountMicro, asset.min_amount_micro, asset.max_amount_micro, asset.symbol)
  const creditMicro = dividedRoundingDown(amountMicro * MICROCREDITS_PER_CREDIT, asset.rate_ppm)
  if (creditMicro === 0n)
    throw new Fault('amount_below_minimum', {
      message: `${amountMicro} micro ${asset.symbol} buy less than one microcredit.`,
      fields: { field: 'amount_micro' },
    })
  if (creditMicro > MICROCREDITS_MAX) throw new Fault('amount_above_maximum', { fields: { field: 'amount_micro' } })
  if (!asset.enabled || !chains.isHealthy(asset.chain_id)) {
    throw new Fault('asset_unavailable', {
      message: `${asset.asset_id} cannot be paid with right now: ${asset.enabled ? `${asset.network_name} cannot be reached` : 'it is paused'}. Try again later or choose another asset. Do not pay without an order.`,
      retryAfterMs: 30_000,
    })
  }
  return { asset, amountMicro, creditMicro }
}

/** The payer's wallet: linked to the account, and an account of the chain whose transfers are its own. */
async function payerOf({ chains, payerWallets }: OrdersDeps, accountId: bigint, asset: Asset): Promise<string> {
  const payer = (await payerWallets(accountId))[0]?.toLowerCase()
  if (payer === undefined) throw new Fault('wallet_not_linked')
  const code = await chains.codeAt(asset.chain_id, payer).catch((cause: unknown) => {
    throw new Fault('asset_unavailable', {
      cause,
      retryAfterMs: 30_000,
      message: `${asset.network_name} cannot be reached, so the paying wallet cannot be checked. Try again later.`,
    })
  })
  // an account that delegates its code (EIP-7702) still signs its own plain transfers
  if (code !== '0x' && !/^0xef0100[0-9a-f]{40}$/i.test(code))
    throw new Fault('payer_is_contract', {
      message: `The linked wallet ${payer} is a contract on ${asset.network_name}. Only a plain account can pay, by a direct transfer: link one.`,
    })
  return payer
}

async function creditedAccount(
  deps: OrdersDeps,
  caller: Caller,
  wanted: OrderWanted,
  amountMicro: bigint,
): Promise<bigint> {
  if (wanted.payment_context_token === undefined) return caller.accountId
  const context = await deps.contextTokens.verify(wanted.payment_context_token, deps.clock.now())
  if (context === 'invalid') throw new Fault('invalid_context', { fields: { field: 'payment_context_token' } })
  if (context === 'expired') throw new Fault('context_expired')
  if (context.payerAccountId !== caller.accountId)
    throw new Fault('context_mismatch', {
      message: 'The payment context was made by another account. Make one with this account.',
    })
  if (context.amountMicro !== amountMicro)
    throw new Fault('context_mismatch', {
      message: `The payment context is for ${context.amountMicro} micro units, the order for ${amountMicro}. Send the amount of the context.`,
    })
  return context.recipientAccountId
}
