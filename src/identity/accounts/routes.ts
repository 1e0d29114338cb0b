import { Type } from 'typebox'
import type { Database } from '../../db/database.ts'
import { Closed } from '../../http/fields.ts'
import { type Route, route } from '../../http/route.ts'
import { assert } from '../../kernel/assert.ts'
import { find } from './store.ts'
import { Account, accountView } from './view.ts'

/** What reading an account needs. */
export interface AccountDeps {
  readonly db: Database
}

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
