import type { JsonObject } from '../../../db/schema.ts'

/** How long a proposal waits for its second operator. */
export const PROPOSAL_LIFETIME_MS = 24 * 3_600_000

/** Whether a decision takes effect now, and who proposed it; or until when it waits for its second operator. */
export type Agreement =
  | { readonly done: true; readonly proposedBy: string | undefined }
  | { readonly done: false; readonly isNew: boolean; readonly until: Date }

/** Two-person rule: above the limit a decision takes effect when a second operator states the same one in time. */
export function agreement(
  aloneLimitMicro: bigint,
  actor: string,
  terms: JsonObject,
  value: bigint,
  proposal: { readonly by: string; readonly at: Date; readonly terms: JsonObject } | undefined,
  now: Date,
): Agreement {
  if (value <= aloneLimitMicro) return { done: true, proposedBy: undefined }
  const until = (from: Date): Date => new Date(from.getTime() + PROPOSAL_LIFETIME_MS)
  const stands =
    proposal !== undefined &&
    now < until(proposal.at) &&
    Object.entries(terms).every(([name, value]) => proposal.terms[name] === value)
  if (!stands) return { done: false, isNew: true, until: until(now) }
  if (proposal.by === actor) return { done: false, isNew: false, until: until(proposal.at) }
  return { done: true, proposedBy: proposal.by }
}
