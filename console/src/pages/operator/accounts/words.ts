import { shortAddress } from '../../../ui/format.ts'

/** How each status of an account looks. */
export const statusTones = { active: 'good', banned: 'bad', deactivated: 'warn' } as const

/** Who an account is, in as much as it says of itself. */
export function whoIs(account: { label: string; email: string; wallet_address: string }): string {
  return account.label || account.email || (account.wallet_address ? shortAddress(account.wallet_address) : 'No name')
}
