import type { AcceptedAsset, Confirmations } from './assets.ts'

/** How deep the chain is as all nodes agree on it: the lowest of what each says. */
export interface ChainDepth {
  readonly latest: bigint
  readonly safe: bigint
  readonly finalized: bigint
}

/** What makes an amount final: a number of blocks, or the chain's own word. `blocks` is then what it usually takes. */
export interface RequiredDepth {
  readonly rule: 'blocks' | 'safe' | 'finalized'
  readonly blocks: number
}

type Depths = Pick<AcceptedAsset, 'safeBlocks' | 'finalizedBlocks'> & {
  readonly confirmations: Confirmations
}

/** The depth that an amount of an asset needs (decisions 3). With a single node only finality counts, or the depth set for it. */
export function requiredDepth(asset: Depths, amountMicro: bigint, nodeCount: number): RequiredDepth {
  const { confirmations, safeBlocks, finalizedBlocks } = asset
  if (nodeCount < 2) {
    return confirmations.singleNodeBlocks === undefined
      ? { rule: 'finalized', blocks: finalizedBlocks }
      : { rule: 'blocks', blocks: confirmations.singleNodeBlocks }
  }
  if (amountMicro <= confirmations.blocksUpToMicro) return { rule: 'blocks', blocks: confirmations.blocks }
  if (amountMicro <= confirmations.safeUpToMicro) return { rule: 'safe', blocks: safeBlocks }
  return { rule: 'finalized', blocks: finalizedBlocks }
}

/** Whether a block is deep enough. Its own block is the first confirmation. */
export function isDeepEnough(required: RequiredDepth, block: bigint, depth: ChainDepth): boolean {
  if (required.rule === 'blocks') return confirmationsOf(block, depth.latest) >= required.blocks
  return block <= depth[required.rule]
}

/** Blocks from the transfer's own to the head, both counted; 0 when it is above the head. */
export function confirmationsOf(block: bigint, latest: bigint): number {
  return block > latest ? 0 : Number(latest - block) + 1
}
