import { type Static, Type } from 'typebox'
import { getAddress } from 'viem/utils'
import { toJsonInteger } from '../../kernel/money.ts'
import type { AccountRow } from './store.ts'

const Integer = (description: string) => Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description })

/** An account as its holder reads it (spec 2.1, decisions 1). Text that is absent is "". */
export const Account = Type.Object(
  {
    id: Integer('Account id'),
    account_type: Type.Enum(['owner', 'agent']),
    status: Type.Enum(['active', 'banned', 'deactivated']),
    role: Type.Enum(['user', 'admin']),
    wallet_address: Type.String({ description: 'EIP-55 checksummed; "" when there is none' }),
    email: Type.String({ description: '"" when there is none' }),
    label: Type.Optional(Type.String()),
    owner_account_id: Type.Optional(Integer('The owner, when this is an owned Agent')),
    billing_mode: Type.Optional(Type.Enum(['self_only', 'self_then_owner', 'owner_only'])),
    created_at: Type.String({ format: 'date-time' }),
  },
  { additionalProperties: false },
)

/** The wire form of an account. Members that do not apply are left out. */
export function accountView(row: AccountRow): Static<typeof Account> {
  return {
    id: toJsonInteger(row.id),
    account_type: row.account_type,
    status: row.status,
    role: row.role,
    wallet_address: row.wallet_address === null ? '' : getAddress(row.wallet_address),
    email: row.email ?? '',
    ...(row.label === null ? {} : { label: row.label }),
    ...(row.owner_account_id === null ? {} : { owner_account_id: toJsonInteger(row.owner_account_id) }),
    ...(row.billing_mode === null ? {} : { billing_mode: row.billing_mode }),
    created_at: row.created_at.toISOString(),
  }
}
