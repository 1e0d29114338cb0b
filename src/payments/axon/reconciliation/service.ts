import { askAgreed, RangeRefused } from '../../../chains/chain.ts'
import type { Database } from '../../../db/database.ts'
import type { Coin } from '../settings.ts'
import * as store from './store.ts'

/** How the coin stands: what its recipient received against what was credited for it. Amounts are wei. */
export interface CoinReport {
  /** `axon:chain:address`. */
  readonly name: string
  /** False when more was credited than arrived, when the ledger says otherwise than the claims, and when it is old. */
  readonly ok: boolean
  readonly detail: string
  readonly received: bigint
  readonly credited: bigint
  /** Received and not credited: nobody redeemed it, or it is under review, or too small. Below 0 is a fault. */
  readonly unclaimed: bigint
  readonly at: Date
}

/** A comparison older than this proves nothing about now; an unchanged one is kept again before that. */
export const STALE_AFTER_MS = 15 * 60_000
const KEEP_AGAIN_MS = 5 * 60_000

/**
 * Compares at a finalized block. A coin leaves no log, so what was received is what the balance grew by since a base
 * line. A recipient that sent something begins a new one: what it spent cannot be told from what it received.
 */
export async function reconcileCoin(db: Database, { chain, config }: Coin, block: bigint, now: Date): Promise<void> {
  const [chainId, address] = [BigInt(config.chainId), config.payToAddress]
  const last = await store.newest(db, chainId, address)
  if (last && last.block >= block) return
  const held = await askAgreed(chain, `what ${address} holds`, (node) =>
    Promise.all([node.nativeBalance(address, block), node.sentCount(address, block)] as const),
  ).catch(undefinedIfForgotten)
  if (!held) return
  const [balance, sentCount] = held
  const base = last && last.sent_count === sentCount ? await store.byId(db, last.base_id ?? last.id) : undefined
  const credited = base ? await store.creditedWei(db, { chainId, address, from: base.block + 1n, to: block }) : 0n
  const received = base ? balance - BigInt(base.balance) : 0n
  const unchanged = last && base && BigInt(last.received) === received && BigInt(last.credited) === credited
  if (unchanged && now.getTime() - last.at.getTime() < KEEP_AGAIN_MS) return
  await store.insert(db, { chainId, address, block, balance, sentCount, baseId: base?.id ?? null, received, credited })
}

/** A node may have forgotten what was held at that block, as a chain on a laptop does when it starts again: a later block will do. */
function undefinedIfForgotten(error: unknown): undefined {
  if (error instanceof RangeRefused) return undefined
  throw error
}

/** The newest comparison, judged at `now`: for metrics, the command and /readyz. undefined: nothing was compared yet. */
export async function coinReport(db: Database, now: Date): Promise<CoinReport | undefined> {
  const [row, drift] = await Promise.all([store.latest(db), store.ledgerDrift(db)])
  if (!row) return undefined
  const [received, credited] = [BigInt(row.received), BigInt(row.credited)]
  const problem = problemOf({ received, credited, drift, at: row.at, now })
  return {
    name: `axon:${row.chain_id}:${row.address}`,
    ok: problem === undefined,
    detail: problem ?? `compared at block ${row.block}`,
    received,
    credited,
    unclaimed: received - credited,
    at: row.at,
  }
}

function problemOf({
  received,
  credited,
  drift,
  at,
  now,
}: {
  received: bigint
  credited: bigint
  drift: bigint
  at: Date
  now: Date
}): string | undefined {
  if (drift !== 0n) return `the ledger and the claims differ by ${drift} microcredits`
  if (received < credited) return `${credited - received} wei more were credited than arrived`
  return now.getTime() - at.getTime() > STALE_AFTER_MS ? `last compared at ${at.toISOString()}` : undefined
}
