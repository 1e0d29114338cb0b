import type { paths } from '../../../../sdk/src/api.d.ts'

type Query = NonNullable<paths['/v1/admin/audit-log']['get']['parameters']['query']>
type Action = NonNullable<Query['action']>

/** Everything that is in the audit log, as the API names it: a missing one is an error of types. */
const named: Readonly<Record<Action, true>> = {
  'ban.account': true,
  'unban.account': true,
  'deactivate.account': true,
  'reactivate.account': true,
  'change_role.account': true,
  'create.api_key': true,
  'revoke.api_key': true,
  'revoke_all.api_keys': true,
  'revoke.session': true,
  'revoke_all.sessions': true,
  'create.link': true,
  'change.link': true,
  'remove.link': true,
  'bind.wallet': true,
  'remove.wallet': true,
  'approve.device_login': true,
  'deny.device_login': true,
  'create.invitation': true,
  'revoke.invitation': true,
  'rotate.signing_key': true,
  'grant.credits': true,
  'set_alert.credits': true,
  'resolve.hold': true,
  'authorize.settlement': true,
  'approve.refund': true,
  'reject.refund': true,
  'credit.order': true,
  'refund.order': true,
  'dismiss.order': true,
  'rewind.chain': true,
  'reload.configuration': true,
  'credit.payment': true,
  'refund.payment': true,
  'dismiss.payment': true,
  'create.webhook': true,
  'change.webhook': true,
  'remove.webhook': true,
  'disable.webhook': true,
  'replay.webhook': true,
  'rotate.webhook_secret': true,
  'rotate.webhook_task_secret': true,
  'credit.native_payment': true,
  'refund.native_payment': true,
  'dismiss.native_payment': true,
}

/** The same as a list, in the order of the alphabet. */
export const actions = Object.keys(named).toSorted()
