import type { AccountStatus } from '../../db/schema.ts'

/** What a verb does to an account of each status: a new status, nothing because it is so already, or a refusal with what to do instead. */
export type Step = { readonly to: AccountStatus } | 'already' | { readonly refused: string }

/** Every verb on every status. A ban outweighs a deactivation; each is lifted by its own verb only. */
export const steps = {
  ban: { active: { to: 'banned' }, deactivated: { to: 'banned' }, banned: 'already' },
  unban: {
    banned: { to: 'active' },
    active: 'already',
    deactivated: { refused: 'It is deactivated, not banned: reactivate it.' },
  },
  deactivate: {
    active: { to: 'deactivated' },
    deactivated: 'already',
    banned: { refused: 'It is banned, which is more: unban it first.' },
  },
  reactivate: {
    deactivated: { to: 'active' },
    active: 'already',
    banned: { refused: 'It is banned, not deactivated: unban it.' },
  },
} as const satisfies Record<string, Record<AccountStatus, Step>>

/** What an operator may do to the status of an account. */
export type StatusVerb = keyof typeof steps

/** What each verb means for the account. */
export const statusVerbs: Record<StatusVerb, string> = {
  ban: 'refuse everything the account asks for; calls that run are finished and billed',
  unban: 'lift a ban',
  deactivate: 'close the account; its Credits stay',
  reactivate: 'open a deactivated account again',
}
