import { askAgreed } from '../../chains/chain.ts'
import * as lifecycle from '../orders/lifecycle.ts'
import { GRACE_MS, isPastRecovery } from '../orders/states.ts'
import * as orders from '../orders/store.ts'
import { reads } from './backfill/store.ts'
import * as store from './store.ts'
import type { WatchedChain, WatcherDeps } from './watched.ts'

/** As many orders are given up in one round. */
const AT_ONCE = 200

/**
 * Gives up orders whose payment never came: the time of the chain, as far as it is final and was read, is past their
 * expiry and the grace after it. A chain that stands still and a watcher that is behind give nobody up, and neither does
 * one whose chain was not read, or not to its end, for the order's own token and recipient.
 */
export async function giveUpLost(deps: WatcherDeps, watched: WatchedChain, head: store.ReadHead): Promise<number> {
  const chainId = BigInt(watched.chain.chainId)
  // cheap, and almost always the end of it: chain time is never ahead of ours by an hour
  const suspects = await orders.confirmingBefore(deps.db, chainId, new Date(head.at.getTime() - GRACE_MS), AT_ONCE)
  if (suspects.length === 0) return 0
  const cursor = await store.cursor(deps.db, chainId)
  if (!cursor) return 0
  const readAndFinal = cursor.block < head.finalized ? cursor.block : head.finalized
  const [header] = await askAgreed(watched.chain, `block ${readAndFinal}`, (node) => node.headers([readAndFinal]))
  if (!header) return 0
  const read = new Map((await reads(deps.db, chainId)).map((each) => [`${each.token} ${each.recipient}`, each.readTo]))
  let given = 0
  for (const suspect of suspects) {
    const readTo = read.get(`${suspect.token_address} ${suspect.recipient_address}`)
    if (readTo === undefined || readTo < cursor.block || !isPastRecovery(suspect, header.at)) continue
    const abandoned = await deps.db.transaction().execute(async (tx) => {
      const order = await orders.lock(tx, suspect.id)
      return order && isPastRecovery(order, header.at) ? lifecycle.abandon(tx, order, deps.clock.now()) : undefined
    })
    if (abandoned) given += 1
  }
  return given
}
