import { NodesDisagree, RangeRefused } from '../chain.ts'
import { confirmationsOf } from '../depth.ts'
import type { Authorization } from './authorization.ts'
import type { AuthorizationNode, TokenLog } from './node.ts'

/** What the chain shows of an authorization. */
export type Use =
  /** Nobody used it, up to and including the block that is deep enough: once its time is past `validBefore` nobody ever will. */
  | { readonly kind: 'unused'; readonly confirmedBlock: bigint; readonly confirmedAt: Date }
  /** Its transfer is in the chain, exactly. */
  | {
      readonly kind: 'paid'
      readonly txHash: string
      readonly position: number
      readonly block: bigint
      readonly confirmations: number
      /** No reorganisation can reach its block. */
      readonly isFinal: boolean
    }
  /** Its nonce is spent and this transfer did not happen: it was canceled, or used with other terms. */
  | {
      readonly kind: 'spent'
      readonly canceled: boolean
      /** Some of the payer's value came to the recipient by that nonce all the same. */
      readonly reachedUs: boolean
      readonly txHash: string | undefined
      readonly confirmations: number
    }

/** What is looked for, and where. */
export interface UseQuery {
  readonly nodes: readonly AuthorizationNode[]
  readonly networkName: string
  readonly token: string
  readonly authorization: Authorization
  /** Blocks that make a transfer deep enough, its own counted. */
  readonly confirmations: number
  /** Transactions that probably hold it: looked at before logs are searched. They prove nothing. */
  readonly hints: readonly string[]
}

/** A search for the log of a spent nonce goes back this far, and asks for so many blocks at once. */
const LOOK_BACK_BLOCKS = 100_000n
const RANGE = 2_000n

/**
 * What every node says about an authorization; throws NodesDisagree when they differ and NodeUnavailable when one does
 * not answer, since nothing is known then. The words of whoever sent the transaction are not asked for.
 */
export async function findUse(query: UseQuery): Promise<Use> {
  const answers = await Promise.all(query.nodes.map((node) => lookOn(node, query)))
  const [first, ...others] = answers
  if (!first) throw new NodesDisagree(`there is no node of ${query.networkName}`)
  return others.reduce((agreed, answer) => joined(agreed, answer, query.networkName), first)
}

/** The lower of two depths, when two nodes tell the same. */
function joined(one: Use, other: Use, networkName: string): Use {
  if (one.kind === 'unused' && other.kind === 'unused') return one.confirmedAt < other.confirmedAt ? one : other
  const same =
    (one.kind === 'paid' && other.kind === 'paid' && one.txHash === other.txHash && one.block === other.block) ||
    (one.kind === 'spent' && other.kind === 'spent' && one.txHash === other.txHash)
  if (!same) throw new NodesDisagree(`the nodes of ${networkName} disagree about an authorization`)
  return 'confirmations' in one && 'confirmations' in other && one.confirmations < other.confirmations ? one : other
}

async function lookOn(node: AuthorizationNode, query: UseQuery): Promise<Use> {
  const { token, authorization, confirmations } = query
  const { payer, nonce } = authorization
  const heads = await node.heads()
  const [latest, finalized] = [heads.latest.number, heads.finalized]
  if (!(await node.nonceSpent(token, payer, nonce, latest))) {
    const deep = latest - BigInt(confirmations) + 1n
    const [header] = await node.headers([deep < 0n ? 0n : deep])
    if (!header) throw new NodesDisagree(`${node.name} lacks one of its own blocks`)
    return { kind: 'unused', confirmedBlock: header.number, confirmedAt: header.at }
  }
  for (const txHash of query.hints) {
    const found = await paidIn(node, query, txHash, { latest, finalized })
    if (found) return found
  }
  return searched(node, query, { latest, finalized })
}

interface Ends {
  readonly latest: bigint
  readonly finalized: bigint
}

async function searched(node: AuthorizationNode, query: UseQuery, ends: Ends): Promise<Use> {
  const { token, authorization } = query
  let range = RANGE
  const lowest = ends.latest > LOOK_BACK_BLOCKS ? ends.latest - LOOK_BACK_BLOCKS : 0n
  for (let toBlock = ends.latest; toBlock >= lowest; ) {
    const from = toBlock - range + 1n
    const fromBlock = from < lowest ? lowest : from
    try {
      const [event] = await node.nonceEvents({ token, ...authorization, fromBlock, toBlock })
      if (event) {
        if (event.kind === 'canceled') return spentIn(true, event.txHash, confirmationsOf(event.block, ends.latest))
        const found = await paidIn(node, query, event.txHash, ends)
        if (!found) throw new NodesDisagree(`${node.name} lists a log whose receipt it does not have`)
        return found
      }
      toBlock = fromBlock - 1n
    } catch (error) {
      if (!(error instanceof RangeRefused) || range === 1n) throw error
      range /= 2n
    }
  }
  return spentIn(false, undefined, Number(LOOK_BACK_BLOCKS))
}

function spentIn(canceled: boolean, txHash: string | undefined, confirmations: number): Use {
  return { kind: 'spent', canceled, reachedUs: false, txHash, confirmations }
}

/** What a transaction that should hold the use holds; undefined when it does not spend the nonce. */
async function paidIn(
  node: AuthorizationNode,
  { token, authorization }: UseQuery,
  txHash: string,
  { latest, finalized }: Ends,
): Promise<Use | undefined> {
  const found = await node.tokenLogs(token, txHash)
  if (!found) return undefined
  const transfer = transferOfUse(found.logs, authorization)
  if (transfer === undefined) return undefined
  const confirmations = confirmationsOf(found.header.number, latest)
  const reachedUs = transfer !== 'none' && transfer.recipient === authorization.recipient
  if (
    transfer === 'none' ||
    !reachedUs ||
    transfer.payer !== authorization.payer ||
    transfer.amount !== authorization.value
  )
    return { kind: 'spent', canceled: false, reachedUs, txHash, confirmations }
  const { number: block } = found.header
  return { kind: 'paid', txHash, position: transfer.position, block, confirmations, isFinal: block <= finalized }
}

type Transfer = TokenLog & { kind: 'transfer' }

/**
 * The transfer that belongs to an authorization: the first one after the log of its use. Two authorizations of one nonce
 * can be signed, and one transaction can carry many: only the pair tells which of them was carried out.
 */
function transferOfUse(
  logs: readonly TokenLog[],
  { payer, nonce }: Pick<Authorization, 'payer' | 'nonce'>,
): Transfer | 'none' | undefined {
  const used = logs.findIndex((log) => log.kind === 'used' && log.payer === payer && log.nonce === nonce)
  if (used < 0) return undefined
  const [next] = logs.slice(used + 1)
  return next?.kind === 'transfer' ? next : 'none'
}
