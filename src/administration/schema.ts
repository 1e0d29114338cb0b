import { Type } from 'typebox'
import { Closed } from '../http/fields.ts'
import type { Call } from '../http/route.ts'
import type { By } from './by.ts'

/** What every endpoint of this floor is: for admins, beyond the published contract, under a tag of its own. */
export const administration = { tag: 'Administration', access: 'admin', extension: true } as const

/** Why something is done: 1 to 500 characters, not blank. */
const Reason = Type.String({
  minLength: 1,
  maxLength: 500,
  pattern: '\\S',
  description: 'Why; it stays in the audit log, beside who did it',
})

/** The body of a verb that needs nothing but a reason. */
export const ReasonBody = Closed({ reason: Reason })

/** Who decides and why, of a request whose body has a reason. */
export function byOf({
  caller,
  body,
  requestId,
}: Pick<Call<unknown, unknown, { reason: string }>, 'caller' | 'body' | 'requestId'>): By {
  return { operator: { kind: 'account', id: caller.accountId }, reason: body.reason.trim(), requestId }
}
