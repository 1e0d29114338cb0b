import { Type } from 'typebox'
import { getAddress } from 'viem/utils'
import { Closed, IdParameter, Integer, integer, Time } from '../../http/fields.ts'
import { type Route, route } from '../../http/route.ts'
import { accountLabel } from '../orders/schema.ts'
import { type ContextDeps, makeContext } from './service.ts'

/** Payment contexts (spec 2.4): who pays for whom and how much, signed, for the payment page. */
export function contextRoutes(deps: ContextDeps): Route[] {
  return [
    route({
      method: 'POST',
      path: '/v1/payments/context',
      summary: 'Sign who pays, who is credited and how much, for 15 minutes. Sends no funds.',
      description: 'Show the recipient before topup_url is opened. An expired context needs a fresh one.',
      tag: 'Payments',
      access: 'session',
      body: Closed({
        amount_micro: Type.String({
          description: 'What to pay, in micro units of the asset, as digits',
        }),
        recipient_account_id: Type.Optional({
          ...IdParameter(),
          description: 'An Agent that is linked to the caller; without one the caller is credited',
        }),
      }),
      example: { amount_micro: '5000000' },
      replies: {
        200: Closed({
          data: Closed({
            payment_context_token: Type.String(),
            amount_micro: Type.String(),
            recipient: Closed({
              account_id: Integer(),
              label: Type.String(),
              wallet_address: Type.String({
                description: 'EIP-55 checksummed; "" when there is none',
              }),
            }),
            topup_url: Type.String({
              description: 'The payment page. The token is in the fragment, which no server sees',
            }),
            expires_at: Time(),
          }),
        }),
      },
      refuses: [
        'invalid_amount',
        'amount_below_minimum',
        'amount_above_maximum',
        'asset_unavailable',
        'recipient_not_allowed',
      ],
      handle: async ({ caller, body, reply }) => {
        const { token, amountMicro, recipient, topupUrl, expiresAt } = await makeContext(deps, caller, body)
        reply.header('cache-control', 'no-store')
        return {
          data: {
            payment_context_token: token,
            amount_micro: String(amountMicro),
            recipient: {
              account_id: integer(recipient.id),
              label: accountLabel(recipient.id, recipient.label),
              wallet_address: recipient.wallet_address === null ? '' : getAddress(recipient.wallet_address),
            },
            topup_url: topupUrl,
            expires_at: expiresAt.toISOString(),
          },
        }
      },
    }),
  ]
}
