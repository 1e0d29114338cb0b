import { type TStringOptions, Type } from 'typebox'
import { Closed } from '../http/fields.ts'
import type { Call } from '../http/route.ts'
import type { Operator } from '../identity/audit-log/service.ts'
import type { Clock } from '../kernel/clock.ts'
import { Fault } from '../kernel/errors.ts'
import type { By } from './by.ts'

/** What every endpoint of this floor is: for admins, beyond the published contract, under a tag of its own. */
export const administration = { tag: 'Administration', access: 'admin', extension: true } as const

/** A text as the database can keep it: without NUL. */
export const Text = (options: TStringOptions) => Type.String({ pattern: '^[^\\0]*$', ...options })

/** Why something is done: 1 to 500 characters, not blank. */
export const Reason = Text({
  minLength: 1,
  maxLength: 500,
  pattern: '^[^\\0]*[^\\s\\0][^\\0]*$',
  description: 'Why; it stays in the audit log, beside who did it',
})

/** The body of a verb that needs nothing but a reason. */
export const ReasonBody = Closed({ reason: Reason })

/** The admin who asks, as the audit log names them. */
export function operatorOf({ caller }: Pick<Call<unknown, unknown, unknown>, 'caller'>): Operator {
  return { kind: 'account', id: caller.accountId }
}

/** Who decides and why, of a request whose body has a reason. */
export function byOf(call: Pick<Call<unknown, unknown, { reason: string }>, 'caller' | 'body' | 'requestId'>): By {
  return { operator: operatorOf(call), reason: call.body.reason.trim().toWellFormed(), requestId: call.requestId }
}

/** A time of a body, which must lie ahead; undefined for null and for none. */
export function futureTime(text: string | null | undefined, clock: Clock): Date | undefined {
  if (!text) return undefined
  const time = new Date(text)
  if (time > clock.now()) return time
  throw new Fault('invalid_field', {
    message: 'The field expires_at must be a time in the future.',
    fields: { field: 'expires_at' },
  })
}
