import type { InvitationRow } from '../../identity/invitations/store.ts'

/** How many accounts one invitation may admit. */
export const USES_MAX = 100_000

/** Whether an invitation admits anybody, and if not, why. */
export function invitationState(row: InvitationRow): 'open' | 'used_up' | 'expired' | 'revoked' {
  if (row.revoked_at !== null) return 'revoked'
  if (row.uses >= row.max_uses) return 'used_up'
  return row.expired ? 'expired' : 'open'
}
