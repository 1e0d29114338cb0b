import { askAll, NodesDisagree } from '../../chains/chain.ts'
import { agreedSight, type NativePayment, nativeSight } from '../../chains/native-payment.ts'
import type { Tx } from '../../db/database.ts'
import type { JsonObject } from '../../db/schema.ts'
import { accountOfWallet } from '../../identity/accounts/store.ts'
import { assert } from '../../kernel/assert.ts'
import { holdGrant } from '../../ledger/review-holds.ts'
import type { AxonDeps } from './deps.ts'
import type { Circumstances } from './judge.ts'
import { type Head, type Missing, movesWhenMined, movesWhenMissing, type Planned } from './moves.ts'
import * as quotes from './quotes/store.ts'
import type { Coin } from './settings.ts'
import { isMove, stepOf } from './states.ts'
import * as store from './store.ts'

/** Who moves claims when nobody asked for it. */
const WORKER = 'watcher'

/** What the chain shows of a claim right now, as all nodes agree on it. */
export type Shown =
  | { readonly kind: 'mined'; readonly payment: NativePayment }
  | ({ readonly kind: 'missing' } & Missing)

/** How far the chain has come, as all nodes agree on it. Throws when one does not answer. */
export async function readHead({ chain }: Coin): Promise<Head> {
  const heads = await askAll(chain, (node) => node.heads())
  const lowest = heads.reduce((low, head) => (head.latest.number < low.latest.number ? head : low))
  const least = (pick: (head: (typeof heads)[number]) => bigint) =>
    heads.map(pick).reduce((low, block) => (block < low ? block : low))
  return {
    latest: lowest.latest.number,
    at: lowest.latest.at,
    safe: least(({ safe }) => safe),
    finalized: least(({ finalized }) => finalized),
  }
}

/** Asks every node about a claim. Throws while one does not answer, or says something else than the others. */
export async function observe({ chain }: Coin, claim: store.Claim): Promise<Shown> {
  const expected = { chainId: chain.chainId, txHash: claim.tx_hash }
  const sight = agreedSight(await askAll(chain, async (node) => nativeSight(await node.facts(claim.tx_hash), expected)))
  if (sight.kind === 'mined') return sight
  if (sight.kind === 'disputed')
    throw new NodesDisagree(`transaction ${claim.tx_hash} is not the same to every node of ${chain.networkName}`)
  const { block, block_hash: hash } = claim
  const headers = block === null ? [] : await askAll(chain, (node) => node.headers([block]))
  // a node that does not have the height yet says nothing about it
  const replaced = headers.length > 0 && headers.every(([header]) => header !== undefined && header.hash !== hash)
  return { kind: 'missing', waiting: sight.kind === 'waiting', replaced }
}

/** Another purchase got the transaction between the look and the credit: the next look finds who has it. */
class Overtaken extends Error {
  override name = 'Overtaken'
}

/** Writes down what follows from what every node showed just now. Gives the claim as it is then. */
export async function apply(
  deps: AxonDeps,
  coin: Coin,
  claim: store.Claim,
  shown: Shown,
  head: Head,
): Promise<store.Claim> {
  const now = deps.clock.now()
  await store.noteLook(deps.db, claim.id, now)
  const planned =
    shown.kind === 'mined'
      ? await whenMined(deps, coin, claim, shown.payment, head)
      : movesWhenMissing(head, claim, shown)
  if (planned.length === 0) return claim
  try {
    return await deps.db.transaction().execute(async (tx) => {
      let moved = await store.lock(tx, claim.id)
      // somebody else was faster, and has seen as much
      if (!moved || !isSame(moved, claim)) return moved ?? claim
      for (const move of planned) moved = await make(tx, moved, move, now)
      return moved
    })
  } catch (error) {
    if (error instanceof Overtaken) return claim
    throw error
  }
}

const isSame = (one: store.Claim, other: store.Claim): boolean =>
  one.status === other.status &&
  one.reason === other.reason &&
  one.block_hash === other.block_hash &&
  one.final === other.final

async function whenMined(
  deps: AxonDeps,
  coin: Coin,
  claim: store.Claim,
  payment: NativePayment,
  head: Head,
): Promise<Planned[]> {
  const holder = await store.holderOf(deps.db, claim.chain_id, claim.tx_hash)
  if (holder !== undefined && claim.grant_id === null && claim.status !== 'closed') {
    const change = { reason: 'tx_already_claimed', final: true }
    return claim.reason === change.reason ? [] : [{ event: 'refuse', change }]
  }
  return movesWhenMined(coin, head, claim, payment, await circumstances(deps, coin, claim, payment))
}

async function circumstances(
  deps: AxonDeps,
  { config }: Coin,
  claim: store.Claim,
  { payer, recipient, value, blockAt }: NativePayment,
): Promise<Circumstances> {
  const [wallets, owner, quote, then, newest] = await Promise.all([
    deps.payerWallets(claim.account_id),
    accountOfWallet(deps.db, payer),
    quotes.meant(deps.db, {
      accountId: claim.account_id,
      chainId: claim.chain_id,
      payToAddress: recipient ?? '',
      wei: value,
    }),
    deps.rates.at(blockAt),
    deps.rates.newest(),
  ])
  const { payToAddress, retiredAddresses, minTopupMicro, maxTopupMicro, unquoted } = config
  return {
    payToAddress,
    retiredAddresses,
    minTopupMicro,
    maxTopupMicro,
    unquoted,
    wallets: wallets.map((wallet) => wallet.toLowerCase()),
    payerIsAnothers: owner !== undefined && owner.id !== claim.account_id,
    quote,
    rateThen: then?.rate,
    rateNow: newest?.rate,
  }
}

async function make(tx: Tx, claim: store.Claim, planned: Planned, at: Date): Promise<store.Claim> {
  const { event, change, credit } = planned
  const to = stepOf(claim.status, event)
  if (!isMove(to)) return claim
  if (credit) return settle(tx, claim, { ...planned, credit }, at)
  const opens = to === 'review_required' && claim.status !== to
  const held = await heldBy(tx, claim, event)
  const moved = await store.move(tx, claim, {
    event,
    to,
    actor: WORKER,
    at,
    change: { ...change, ...held?.change, ...(opens ? { review_opened_at: at } : {}) },
    data: { ...(change?.reason ? { reason: change.reason } : {}), ...held?.data },
  })
  if (opens) await store.tell(tx, 'payment.review_required', moved, at)
  return moved
}

/** What the account still has of the Credits is held while their block is lost, and free again when it is back. */
async function heldBy(
  tx: Tx,
  claim: store.Claim,
  event: Planned['event'],
): Promise<{ readonly change: store.ClaimChange; readonly data: JsonObject } | undefined> {
  if (event === 'undo') {
    assert(claim.grant_id !== null, 'a completed claim has its Credits')
    const { holdId, heldMicro } = await holdGrant(tx, claim.grant_id)
    return { change: { review_hold_id: holdId }, data: { held_micro: String(heldMicro) } }
  }
  if (event !== 'restore') return undefined
  await store.endHold(tx, claim, { take: false, by: WORKER, reason: 'its transaction is on the chain again' })
  return { change: { review_hold_id: null }, data: {} }
}

/** Credits, the quote that is used up by them, the notice and the claim become true together. */
async function settle(
  tx: Tx,
  claim: store.Claim,
  { change, credit }: Planned & { credit: NonNullable<Planned['credit']> },
  at: Date,
): Promise<store.Claim> {
  const { creditMicro, quoteId } = credit
  if (quoteId !== undefined && !(await quotes.use(tx, quoteId, claim.id))) throw new Overtaken()
  const given = await store.grant(tx, claim, { creditMicro, reason: `native payment ${claim.tx_hash}` })
  if ('takenBy' in given) throw new Overtaken()
  const completed = await store.move(tx, claim, {
    event: 'settle',
    to: 'completed',
    actor: WORKER,
    at,
    change: {
      ...change,
      grant_id: given.grantId,
      credited_micro: creditMicro,
      completed_at: at,
      quote_id: quoteId ?? null,
    },
    data: { credited_micro: String(creditMicro), ...(quoteId === undefined ? {} : { quote_id: String(quoteId) }) },
  })
  await store.tell(tx, 'payment.credited', completed, at)
  return completed
}
