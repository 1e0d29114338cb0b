import type { Kind } from './kinds/review.ts'

/** A payment's id, read: what sort it is, and its name in the store of that sort. */
export interface Named {
  readonly kind: Kind
  readonly name: string
}

const forms: ReadonlyArray<readonly [Kind, RegExp]> = [
  ['order', /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/],
  ['transfer', /^(\d{1,18}:0x[0-9a-f]{64}:\d{1,9})$/],
  ['native', /^axon:(\d{1,15})$/],
  ['x402', /^x402:(\d{1,15})$/],
]

/** Reads an id: an order's, `chain:hash:position` of a transfer, `axon:12`, `x402:7`. undefined: it is none of these. */
export function parseName(id: string): Named | undefined {
  const text = id.toLowerCase()
  for (const [kind, form] of forms) {
    const name = form.exec(text)?.[1]
    if (name !== undefined) return { kind, name }
  }
  return undefined
}
