import { Type } from 'typebox'
import type { Database } from '../../db/database.ts'
import { Closed, IdParameter, Integer, integer } from '../../http/fields.ts'
import { type Route, route } from '../../http/route.ts'
import { administration, byOf, ReasonBody } from '../schema.ts'
import { changeStatus } from './service.ts'
import { type StatusVerb, statusVerbs } from './status.ts'

/** What the endpoints of accounts need. */
export interface AccountsDeps {
  readonly db: Database
}

/** Accounts, as an admin sees and changes them. */
export function accountAdministrationRoutes(deps: AccountsDeps): Route[] {
  return (Object.keys(statusVerbs) as StatusVerb[]).map((verb) => statusRoute(deps, verb))
}

const Status = Type.Enum(['active', 'banned', 'deactivated'])

function statusRoute({ db }: AccountsDeps, verb: StatusVerb): Route {
  return route({
    ...administration,
    method: 'POST',
    path: `/v1/admin/accounts/:id/${verb}`,
    summary: `Of an account: ${statusVerbs[verb]}.`,
    params: Closed({ id: IdParameter() }),
    body: ReasonBody,
    replies: {
      200: Closed({
        data: Closed({ account_id: Integer(), status: Status, changed: Type.Boolean() }),
        request_id: Type.String(),
      }),
    },
    refuses: ['account_not_found', 'account_status_conflict', 'own_account'],
    handle: async (call) => {
      const { accountId, status, changed } = await changeStatus(
        db,
        { accountId: BigInt(call.params.id), verb },
        byOf(call),
      )
      return { data: { account_id: integer(accountId), status, changed }, request_id: call.requestId }
    },
  })
}
