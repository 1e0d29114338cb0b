import { type Authorization, transferCall } from '../../../chains/authorizations/authorization.ts'
import type { AuthorizationNode } from '../../../chains/authorizations/node.ts'
import type { Relayer } from '../../../chains/relayer/relayer.ts'
import type { Database, Tx } from '../../../db/database.ts'
import type { Clock } from '../../../kernel/clock.ts'
import { authorizationOf, NotSent, type Payment, PaymentRejected, type Settler, type TopUpSettings } from '../model.ts'
import { feesWithin, firstOf, type GasMoney, type GasPrice, gasMoneyOf, raised } from './gas.ts'
import * as store from './store.ts'

/** What a lane needs. */
export interface LaneDeps {
  readonly db: Database
  readonly clock: Clock
  readonly settings: TopUpSettings
  readonly relayer: Relayer
  /** The most that a unit of gas may cost, in wei. */
  readonly gasPriceMax: bigint
}

/** What a transaction will cost and which account nonce the chain has next. */
interface Prepared {
  readonly gasLimit: bigint
  readonly price: GasPrice
  readonly chainNonce: bigint
}

/** The relayer as a settler, which also keeps its account nonces moving. */
export interface Lane extends Settler<Prepared> {
  /** Sends again what no node has, raises the price of what is stuck, closes what is final. */
  tend(): Promise<void>
  /** How long the relayer's gas money lasts, as the chain says now. */
  gasMoney(): Promise<GasMoney>
}

/** What one settlement takes at most; estimates are raised to their own 6/5. */
const GAS_LIMIT_MAX = 400_000n
/** An account nonce that is not used for so long gets a dearer transaction. */
const STUCK_AFTER_MS = 30_000
const SEND_AGAIN_MS = 3_000
/** Transactions that are signed for one payment at most, dearer ones not counted: somebody may make each of them fail. */
const ATTEMPTS_MAX = 3
const OPEN_MAX = 500
/** A transfer of nothing to oneself: what fills a nonce whose payment can land no more. */
const FILLER_GAS = 21_000n

/**
 * The one lane of a relayer. Any number of processes may use it at once: nonces are given out under a row lock, and a
 * transaction is stored, with the payment, before anybody sends it; so whoever finds it after a crash sends the same one.
 */
export function openLane(deps: LaneDeps): Lane {
  const { db, clock, settings, relayer } = deps
  const { nodes } = settings
  const key = { chainId: BigInt(settings.asset.chainId), address: relayer.address }

  const sign = async (tx: Tx, payment: Payment, { gasLimit, price, chainNonce }: Prepared) => {
    const nonce = await store.takeNonce(tx, key, chainNonce)
    return signed(deps, tx, payment, { nonce, gasLimit, price, call: callOf(settings, payment) })
  }
  const send = async (row: store.RelayerTransaction): Promise<boolean> => {
    const now = clock.now()
    if (!(await store.claimSending(db, row.id, now, new Date(now.getTime() - SEND_AGAIN_MS)))) return false
    if (await firstOf(nodes, (node) => node.knows(row.tx_hash))) return true
    // one node that takes it is enough, and what the others say changes nothing
    await Promise.any(nodes.map((node) => node.broadcast(row.raw)))
    return true
  }

  return {
    kind: 'relayer',
    prepare: (authorization, signature) => prepared(deps, key, authorization, signature),
    async store(tx, payment, ready) {
      await sign(tx, payment, ready)
    },
    async push(payment) {
      const signedFor = await store.ofPayment(db, payment.id)
      const chainNonce = await firstOf(nodes, (node) => node.nextNonce(relayer.address))
      const waiting = signedFor.filter(({ nonce }) => nonce >= chainNonce)
      if (waiting.length > 0) return (await Promise.all(waiting.map(send))).includes(true)
      // its nonce was used and the authorization was not: the transaction failed, or another one took its place
      if (new Set(signedFor.map(({ nonce }) => nonce)).size >= ATTEMPTS_MAX) return false
      const ready = await prepared(deps, key, authorizationOf(payment), payment.signature)
      const row = await db.transaction().execute(async (tx) => {
        await store.lockLane(tx, key)
        const meanwhile = await store.ofPayment(tx, payment.id)
        return meanwhile.length > signedFor.length ? undefined : sign(tx, payment, ready)
      })
      return row !== undefined && send(row)
    },
    tend: () => tended(deps, key, send),
    gasMoney: () => gasMoneyOf(nodes, relayer.address),
  }
}

const callOf = ({ asset }: TopUpSettings, payment: Payment) => ({
  to: asset.tokenAddress,
  data: transferCall(authorizationOf(payment), payment.signature),
})

async function signed(
  { relayer, clock, settings }: LaneDeps,
  tx: Tx,
  payment: Pick<Payment, 'id'>,
  {
    nonce,
    gasLimit,
    price,
    call,
  }: { nonce: bigint; gasLimit: bigint; price: GasPrice; call: { to: string; data: string } },
): Promise<store.RelayerTransaction> {
  const chainId = settings.asset.chainId
  const { raw, txHash } = await relayer.sign({ chainId, nonce, gasLimit, ...call, ...price })
  return store.insert(tx, {
    chain_id: BigInt(chainId),
    address: relayer.address,
    nonce,
    payment_id: payment.id,
    tx_hash: txHash,
    raw,
    gas_limit: gasLimit,
    max_fee_wei: String(price.maxFee),
    priority_fee_wei: String(price.priorityFee),
    created_at: clock.now(),
  })
}

/** Tries the call on a node without sending it, and sees that its gas can be paid for. */
async function prepared(
  deps: LaneDeps,
  key: store.LaneKey,
  authorization: Authorization,
  signature: string,
): Promise<Prepared> {
  const { settings, relayer, gasPriceMax } = deps
  const { nodes, asset } = settings
  const call = { from: relayer.address, to: asset.tokenAddress, data: transferCall(authorization, signature) }
  const gas = await firstOf(nodes, (node) => node.gasFor(call))
  if (gas === 'reverts') throw await whyReverted(nodes, settings, authorization)
  const gasLimit = (gas * 6n) / 5n
  if (gasLimit > GAS_LIMIT_MAX)
    throw new PaymentRejected('settlement_refused', `The transfer would take ${gas} gas, more than is paid for.`)
  const [fees, balance, chainNonce] = await Promise.all([
    firstOf(nodes, (node) => node.fees()),
    firstOf(nodes, (node) => node.gasBalance(relayer.address)),
    firstOf(nodes, (node) => node.nextNonce(relayer.address)),
  ])
  const price = feesWithin(fees, gasPriceMax)
  if (!price) throw new NotSent('Gas costs more than this server pays at the moment.')
  const waiting = await store.open(deps.db, key, OPEN_MAX)
  const ahead = waiting.filter(({ nonce }) => nonce >= chainNonce)
  const committed = ahead.reduce((sum, row) => sum + row.gas_limit * BigInt(row.max_fee_wei), 0n)
  if (balance < committed + gasLimit * price.maxFee)
    throw new NotSent('The relayer of this server has too little gas money at the moment.')
  return { gasLimit, price, chainNonce }
}

async function whyReverted(
  nodes: readonly AuthorizationNode[],
  { asset }: TopUpSettings,
  { payer, value }: Authorization,
): Promise<PaymentRejected> {
  const balance = await firstOf(nodes, async (node) =>
    node.balance(asset.tokenAddress, payer, (await node.heads()).latest.number),
  )
  if (balance < value)
    return new PaymentRejected(
      'insufficient_funds',
      `The wallet holds ${balance} micro ${asset.symbol}, and ${value} were authorized. Nothing was sent.`,
    )
  return new PaymentRejected('settlement_refused', 'The token refuses this transfer. Nothing was sent.')
}

async function tended(
  deps: LaneDeps,
  key: store.LaneKey,
  send: (row: store.RelayerTransaction) => Promise<boolean>,
): Promise<void> {
  const { db, clock, settings, relayer } = deps
  const rows = await store.open(db, key, OPEN_MAX)
  if (rows.length === 0) return
  const used = await firstOf(settings.nodes, (node) => node.nextNonce(relayer.address))
  // a reorganisation takes a transaction that is not final out of the chain again: until then it is kept to be sent
  const final = await firstOf(settings.nodes, async (node) =>
    node.sentCount(relayer.address, (await node.heads()).finalized),
  )
  await store.close(db, key, final, clock.now())
  const waiting = rows.filter(({ nonce }) => nonce >= used)
  const newest = [...Map.groupBy(waiting, ({ nonce }) => nonce).values()].flatMap((same) => same.slice(-1))
  const [head] = newest
  const stuckSince = clock.now().getTime() - STUCK_AFTER_MS
  if (head && head.nonce === used && head.created_at.getTime() < stuckSince) await replaceStuck(deps, key, head)
  await Promise.all(newest.map((row) => send(row).catch(() => false)))
}

/** Signs the same once more for the same account nonce at a higher price; a filler, when the payment can land no more. */
async function replaceStuck(deps: LaneDeps, key: store.LaneKey, stuck: store.RelayerTransaction): Promise<void> {
  const { db, clock, settings, relayer, gasPriceMax } = deps
  const fees = await firstOf(settings.nodes, (node) => node.fees())
  const price = raised(
    { maxFee: BigInt(stuck.max_fee_wei), priorityFee: BigInt(stuck.priority_fee_wei) },
    fees,
    gasPriceMax,
  )
  if (!price) return
  await db.transaction().execute(async (tx) => {
    await store.lockLane(tx, key)
    const payment = await store.paymentOf(tx, stuck)
    const open = await store.ofPayment(tx, stuck.payment_id)
    // another process was faster
    if (!payment || open.some(({ nonce, id }) => nonce === stuck.nonce && id > stuck.id)) return
    const lapsed = payment.valid_before * 1000n <= BigInt(clock.now().getTime())
    const call = lapsed ? { to: relayer.address, data: '0x' } : callOf(settings, payment)
    const gasLimit = lapsed ? FILLER_GAS : stuck.gas_limit
    await signed(deps, tx, payment, { nonce: stuck.nonce, gasLimit, price, call })
  })
}
