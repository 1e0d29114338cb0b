import { shortAddress } from '../../../ui/format.ts'

/** How each status of an account looks. */
export const statusTones = { active: 'good', banned: 'bad', deactivated: 'warn' } as const

/** Who an account is, in as much as it says of itself. */
export function whoIs(account: { label: string; email: string; wallet_address: string }): string {
  return account.label || account.email || (account.wallet_address ? shortAddress(account.wallet_address) : 'No name')
}

/** Whose Credits an Agent's calls take, in each billing mode. */
export const spends = {
  self_only: 'its own Credits only',
  self_then_owner: 'its own Credits, then those of its owner',
  owner_only: 'Credits of its owner only',
} as const
