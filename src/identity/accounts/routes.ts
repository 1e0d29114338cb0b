import { Type } from 'typebox'
import { getAddress, isAddress } from 'viem/utils'
import type { Database } from '../../db/database.ts'
import { Closed, Integer, integer, type Of, Time } from '../../http/fields.ts'
import { type Route, route } from '../../http/route.ts'
import { assert } from '../../kernel/assert.ts'
import { type AccountRow, find } from './store.ts'

/** What reading an account needs. */
export interface AccountDeps {
  readonly db: Database
}

/** An account as its holder reads it (decisions 1). Text that is absent is "". */
const Account = Closed({
  id: Integer('Account id'),
  account_type: Type.Enum(['owner', 'agent']),
  status: Type.Enum(['active', 'banned', 'deactivated']),
  role: Type.Enum(['user', 'admin']),
  wallet_address: Type.String({ description: 'EIP-55 checksummed; "" when there is none' }),
  email: Type.String({ description: '"" when there is none' }),
  label: Type.Optional(Type.String()),
  owner_account_id: Type.Optional(Integer('The owner, when this is an owned Agent')),
  billing_mode: Type.Optional(Type.Enum(['self_only', 'self_then_owner', 'owner_only'])),
  created_at: Time(),
})

/** The endpoints of the account itself. */
export function accountRoutes(deps: AccountDeps): Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/me',
      summary: 'The account of this credential.',
      tag: 'Account',
      access: 'any',
      extension: true,
      replies: { 200: Closed({ account: Account, request_id: Type.String() }) },
      refuses: [],
      handle: async ({ caller, requestId }) => {
        const row = await find(deps.db, caller.accountId)
        assert(row, `account ${caller.accountId} has a credential and no row`)
        return { account: accountView(row), request_id: requestId }
      },
    }),
  ]
}

/** The wire form of an account. Members that do not apply are left out. */
function accountView(row: AccountRow): Of<typeof Account> {
  return {
    id: integer(row.id),
    account_type: row.account_type,
    status: row.status,
    role: row.role,
    wallet_address: checksummed(row.wallet_address),
    email: row.email ?? '',
    ...(row.label === null ? {} : { label: row.label }),
    ...(row.owner_account_id === null ? {} : { owner_account_id: integer(row.owner_account_id) }),
    ...(row.billing_mode === null ? {} : { billing_mode: row.billing_mode }),
    created_at: row.created_at.toISOString(),
  }
}

function checksummed(address: string | null): string {
  return address !== null && isAddress(address, { strict: false }) ? getAddress(address) : ''
}
