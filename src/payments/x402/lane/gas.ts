import type { AuthorizationNode } from '../../../chains/authorizations/node.ts'
import { CallReverted, NodeUnavailable } from '../../../chains/chain.ts'

/** What a transaction offers for a unit of gas, in wei. */
export interface GasPrice {
  readonly maxFee: bigint
  readonly priorityFee: bigint
}

type Fees = { readonly baseFee: bigint; readonly priorityFee: bigint }

/** A price that lasts for a base fee twice as high; undefined when gas costs more than `most` already. */
export function feesWithin({ baseFee, priorityFee }: Fees, most: bigint): GasPrice | undefined {
  if (baseFee + priorityFee > most) return undefined
  return { maxFee: smaller(baseFee * 2n + priorityFee, most), priorityFee }
}

/** A price by which nodes let a transaction take another's place: an eighth more, or what gas costs now; undefined above `most`. */
export function raised(old: GasPrice, now: Fees, most: bigint): GasPrice | undefined {
  const more = (price: bigint) => (price * 9n) / 8n + 1n
  const maxFee = larger(more(old.maxFee), now.baseFee * 2n + now.priorityFee)
  const priorityFee = larger(more(old.priorityFee), now.priorityFee)
  return maxFee > most ? undefined : { maxFee, priorityFee: smaller(priorityFee, maxFee) }
}

const smaller = (one: bigint, other: bigint): bigint => (one < other ? one : other)
const larger = (one: bigint, other: bigint): bigint => (one > other ? one : other)

/** What an account may spend on gas, in wei and in payments at the price of now. */
export interface GasMoney {
  readonly balance: bigint
  readonly payments: bigint
}

/** A transfer by authorization and some more. */
const USUAL_GAS = 100_000n

/** How long the gas money of a relayer lasts. */
export async function gasMoneyOf(nodes: readonly AuthorizationNode[], relayer: string): Promise<GasMoney> {
  const [balance, fees] = await Promise.all([
    firstOf(nodes, (node) => node.gasBalance(relayer)),
    firstOf(nodes, (node) => node.fees()),
  ])
  const unit = fees.baseFee * 2n + fees.priorityFee
  return { balance, payments: balance / (USUAL_GAS * (unit > 0n ? unit : 1n)) }
}

/** What the first node that answers says: good for prices and nonces, where nothing is credited by the answer. */
export async function firstOf<T>(
  nodes: readonly AuthorizationNode[],
  ask: (node: AuthorizationNode) => Promise<T>,
): Promise<T> {
  let failure: unknown = new NodeUnavailable('there is no node')
  for (const node of nodes) {
    try {
      return await ask(node)
    } catch (error) {
      if (error instanceof CallReverted) throw error
      failure = error
    }
  }
  throw failure
}
