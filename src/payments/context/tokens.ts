import { decodeJwt } from 'jose'
import type { Tokens } from '../../identity/tokens/service.ts'
import type { ContextTokens } from '../orders/context-port.ts'

/** Payment contexts as signed tokens of their own kind: no access token is taken for one, nor the other way round. */
export function contextTokens(tokens: Tokens): ContextTokens {
  return {
    sign: (context, issuedAt) =>
      tokens.sign('payment_context', {
        accountId: context.payerAccountId,
        claims: {
          recipient: String(context.recipientAccountId),
          amount_micro: String(context.amountMicro),
        },
        issuedAt,
      }),
    async verify(token, now) {
      const verified = await tokens.verify('payment_context', token)
      if (!verified) return hasExpired(token, now) ? 'expired' : 'invalid'
      const { recipient, amount_micro: amount } = verified.claims
      return {
        payerAccountId: verified.accountId,
        recipientAccountId: BigInt(String(recipient)),
        amountMicro: BigInt(String(amount)),
      }
    },
  }
}

/** What a refused token says of itself: good for the words of the refusal, for nothing else. */
function hasExpired(token: string, now: Date): boolean {
  try {
    return (decodeJwt(token).exp ?? Number.POSITIVE_INFINITY) * 1000 <= now.getTime()
  } catch {
    return false
  }
}
