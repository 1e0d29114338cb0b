import type { Receipt } from '../crediting/store.ts'

/** A transfer's name for people: chain, hash and position. */
export const transferId = (key: Receipt): string => `${key.chainId}:${key.txHash}:${key.logPosition}`

/** The transfer that a name names. */
export function parseTransferId(text: string): Receipt | undefined {
  const match = /^(\d{1,18}):(0x[0-9a-f]{64}):(\d{1,9})$/.exec(text.toLowerCase())
  return match ? { chainId: BigInt(match[1] ?? ''), txHash: match[2] ?? '', logPosition: Number(match[3]) } : undefined
}
