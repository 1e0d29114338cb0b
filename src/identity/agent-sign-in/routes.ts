import { Type } from 'typebox'
import { clientAddress } from '../../http/client-address.ts'
import { Closed, Integer } from '../../http/fields.ts'
import { type Route, route } from '../../http/route.ts'
import { keepRefreshToken } from '../../http/session-cookie.ts'
import { SignedIn, signedIn } from '../sign-in.ts'
import { type AgentSignInDeps, challengeAgent, signInAgent } from './service.ts'

/** Endpoints of Agent sign-in (spec 4.3, decisions 2). */
export function agentSignInRoutes(deps: AgentSignInDeps): Route[] {
  return [
    route({
      method: 'POST',
      path: '/v1/auth/challenge',
      summary: "Get a text to sign with an Agent's wallet.",
      description: 'Valid for 5 minutes, once. At most 5 are open for a wallet: a sixth takes the place of the oldest.',
      tag: 'Sign-in',
      access: 'public',
      limit: 'auth',
      extension: true,
      body: Closed({
        wallet_address: Type.String({ pattern: '^0x[0-9a-fA-F]{40}$', description: 'In any case' }),
      }),
      example: { wallet_address: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8' },
      replies: {
        200: Closed({
          challenge_id: Type.String(),
          message: Type.String({
            description: 'EIP-4361 text: sign it as it is, by EIP-191 (personal_sign)',
          }),
          wallet_address: Type.String({ description: 'EIP-55 checksummed' }),
          expires_at: Integer('Unix seconds'),
          request_id: Type.String(),
        }),
      },
      refuses: [],
      handle: async ({ body, requestId, reply }) => {
        reply.header('cache-control', 'no-store')
        const challenge = await challengeAgent(deps, body.wallet_address)
        return {
          challenge_id: challenge.id,
          message: challenge.message,
          wallet_address: challenge.walletAddress,
          expires_at: Math.floor(challenge.expiresAt.getTime() / 1000),
          request_id: requestId,
        }
      },
    }),
    verifyRoute(deps),
  ]
}

function verifyRoute(deps: AgentSignInDeps): Route {
  return route({
    method: 'POST',
    path: '/v1/auth/verify',
    summary: 'Sign an Agent in by the signature of its challenge; an unknown wallet becomes an account.',
    tag: 'Sign-in',
    access: 'public',
    limit: 'auth',
    body: Closed({
      challenge_id: Type.String(),
      signature: Type.String({ description: '65 bytes as hex, with or without 0x' }),
    }),
    replies: { 200: SignedIn },
    refuses: [
      'invalid_challenge',
      'invalid_signature',
      'owner_wallet_not_allowed',
      'account_banned',
      'account_deactivated',
    ],
    handle: async ({ body, request, requestId, reply }) => {
      reply.header('cache-control', 'no-store')
      const answer = {
        challengeId: body.challenge_id,
        signature: body.signature,
        device: request.headers['user-agent'],
        address: clientAddress(request),
      }
      return signedIn(deps.db, { ...(await signInAgent(deps, answer)), requestId }, (token) =>
        keepRefreshToken({ request, reply, publicUrl: deps.publicUrl() }, token),
      )
    },
  })
}
