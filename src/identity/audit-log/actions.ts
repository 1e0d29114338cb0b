/**
 * Everything that is recorded, and what kind of thing it is done to. A closed list: what is not here cannot be
 * recorded, and a reader can rely on the words. `verb.noun`.
 */
export const actions = {
  'ban.account': 'account',
  'unban.account': 'account',
  'deactivate.account': 'account',
  'reactivate.account': 'account',
  'change_role.account': 'account',
  'create.api_key': 'api_key',
  'revoke.api_key': 'api_key',
  'revoke_all.api_keys': 'account',
  'revoke.session': 'session',
  'revoke_all.sessions': 'account',
  'create.link': 'account',
  'change.link': 'account',
  'remove.link': 'account',
  'bind.wallet': 'account',
  'remove.wallet': 'account',
  'create.invitation': 'invitation',
  'revoke.invitation': 'invitation',
  'rotate.signing_key': 'signing_key',
  'grant.credits': 'account',
  'set_alert.credits': 'account',
  'resolve.hold': 'hold',
  'authorize.settlement': 'hold',
  'approve.refund': 'refund',
  'reject.refund': 'refund',
  'credit.order': 'order',
  'refund.order': 'order',
  'dismiss.order': 'order',
  'rewind.chain': 'chain',
  'reload.configuration': 'configuration',
  'dismiss.payment': 'payment',
  'create.webhook': 'webhook',
  'change.webhook': 'webhook',
  'remove.webhook': 'webhook',
  'disable.webhook': 'webhook',
  'replay.webhook': 'webhook',
  'rotate.webhook_secret': 'webhook',
  'rotate.webhook_task_secret': 'account',
  'credit.native_payment': 'native_payment',
  'refund.native_payment': 'native_payment',
  'dismiss.native_payment': 'native_payment',
} as const satisfies Record<string, string>

/** What was done. The target of `*.link` is the Agent's account. */
export type Action = keyof typeof actions
