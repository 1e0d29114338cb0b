/** How one chain is doing, for /readyz, metrics and the question whether orders may be made on it. */
export interface ChainStatus {
  readonly chainId: bigint
  /** False while its nodes fail or disagree, and before the first round. */
  readonly healthy: boolean
  /** When a round last succeeded, here or in the process that reads this chain. */
  readonly lastReadAt: Date | undefined
  /** The time of the chain's head, as last seen: old when the chain stands still. */
  readonly headAt: Date | undefined
  /** Blocks that are still to be read, for any token or recipient. */
  readonly behind: bigint
  /** Why it is not healthy, and what to do when waiting does not help. Names no address. */
  readonly trouble: string | undefined
  /** True from a reorganisation that is deeper than is remembered until an operator has rewound the chain. */
  readonly stopped: boolean
  /** Whether this process reads it: one at a time does, others follow. */
  readonly reading: boolean
  /** By this process, since its start. */
  readonly disagreements: number
  readonly reorganisations: number
  readonly credited: number
}

/** A chain of which nothing is known yet. */
export function unread(chainId: bigint): ChainStatus {
  return {
    chainId,
    healthy: false,
    lastReadAt: undefined,
    headAt: undefined,
    behind: 0n,
    trouble: 'not read yet',
    stopped: false,
    reading: false,
    disagreements: 0,
    reorganisations: 0,
    credited: 0,
  }
}
