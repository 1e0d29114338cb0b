import { Type } from 'typebox'
import { getAddress } from 'viem/utils'
import { Closed, Integer, integer, Nullable, Time } from '../../http/fields.ts'
import { type Route, route } from '../../http/route.ts'
import type { Challenge } from '../challenges/service.ts'
import {
  type BoundWallet,
  bindWallet,
  challengeForBinding,
  challengeForLinking,
  delegate,
  listWallets,
  putWallet,
  removeWallet,
  type WalletDeps,
} from './service.ts'

const ADDRESS = '^0x[0-9a-fA-F]{40}$'
const AddressBody = (description = 'In any case') => Type.String({ pattern: ADDRESS, description })
const Token = Type.String({ maxLength: 100 })
const Signature = Type.String({
  description: 'EIP-191 signature of the challenge message: 65 bytes as hex, with or without 0x',
})

const ChallengeReply = Closed({
  challenge_id: Type.String(),
  message: Type.String({
    description: 'EIP-4361 text: sign it as it is, by EIP-191 (personal_sign)',
  }),
  wallet_address: Type.String({ description: 'EIP-55 checksummed' }),
  expires_at: Integer('Unix seconds'),
  request_id: Type.String(),
})
const Bound = Closed({
  ok: Type.Literal(true),
  wallet_address: Type.String({ description: 'EIP-55 checksummed' }),
  account_id: Integer('The owner that the wallet belongs to now'),
  request_id: Type.String(),
})

/** Wallets of owners: bound by an Agent that the owner permitted it (spec 4.4), or added by the owner itself. */
export function walletRoutes(deps: WalletDeps): Route[] {
  return [delegationRoute(deps), ...bindingRoutes(deps), ...owningRoutes(deps), ...listingRoutes(deps)]
}

function delegationRoute(deps: WalletDeps): Route {
  return route({
    method: 'POST',
    path: '/v1/me/wallet/delegation',
    summary: 'Permit a linked Agent to bind one wallet to this owner.',
    description: "Valid for 10 minutes, once. A new one takes the place of that Agent's older one.",
    tag: 'Wallets',
    access: 'session',
    body: Closed({ agent_wallet_address: AddressBody() }),
    replies: {
      200: Closed({
        delegation_token: Type.String({
          description: 'Hand it to the Agent. It is in this answer only',
        }),
        expires_at: Integer('Unix seconds'),
        agent_wallet_address: Type.String({ description: 'EIP-55 checksummed' }),
        request_id: Type.String(),
      }),
    },
    refuses: ['owner_account_required', 'agent_not_linked'],
    handle: async ({ caller, body, requestId, reply }) => {
      const { token, expiresAt } = await delegate(deps, {
        ownerId: caller.accountId,
        agentWallet: body.agent_wallet_address,
      })
      reply.header('cache-control', 'no-store')
      return {
        delegation_token: token,
        expires_at: unixSeconds(expiresAt),
        agent_wallet_address: getAddress(body.agent_wallet_address.toLowerCase()),
        request_id: requestId,
      }
    },
  })
}

function bindingRoutes(deps: WalletDeps): Route[] {
  return [
    route({
      method: 'POST',
      path: '/v1/me/owner-wallet/challenge',
      summary: 'Get a text to sign with a wallet that the delegating owner is to have.',
      description: 'Valid for 5 minutes, once. Reads the delegation and does not use it up.',
      tag: 'Wallets',
      access: 'any',
      body: Closed({ delegation_token: Token, wallet_address: AddressBody() }),
      replies: { 200: ChallengeReply },
      refuses: ['agent_account_required', 'delegation_invalid', 'wallet_already_bound'],
      handle: async ({ caller, body, requestId, reply }) => {
        const challenge = await challengeForBinding(deps, {
          agentId: caller.accountId,
          delegationToken: body.delegation_token,
          walletAddress: body.wallet_address,
        })
        reply.header('cache-control', 'no-store')
        return challengeView(challenge, requestId)
      },
    }),
    route({
      method: 'POST',
      path: '/v1/me/owner-wallet/bind',
      summary: "Bind a wallet to the delegating owner by the wallet's signature.",
      description: 'Uses up the challenge and the delegation together, or neither.',
      tag: 'Wallets',
      access: 'any',
      body: Closed({ delegation_token: Token, challenge_id: Type.String(), signature: Signature }),
      replies: { 200: Bound },
      refuses: [
        'agent_account_required',
        'delegation_invalid',
        'invalid_challenge',
        'invalid_signature',
        'wallet_already_bound',
      ],
      handle: async ({ caller, body, requestId }) =>
        boundView(
          await bindWallet(deps, {
            agentId: caller.accountId,
            delegationToken: body.delegation_token,
            challengeId: body.challenge_id,
            signature: body.signature,
            requestId,
          }),
          requestId,
        ),
    }),
  ]
}

function owningRoutes(deps: WalletDeps): Route[] {
  return [
    route({
      method: 'POST',
      path: '/v1/me/wallet/challenge',
      summary: 'Get a text to sign with a wallet that this owner is to have.',
      description: 'Valid for 5 minutes, once.',
      tag: 'Wallets',
      access: 'session',
      extension: true,
      body: Closed({ wallet_address: AddressBody() }),
      example: { wallet_address: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8' },
      replies: { 200: ChallengeReply },
      refuses: ['owner_account_required', 'wallet_already_bound'],
      handle: async ({ caller, body, requestId, reply }) => {
        const challenge = await challengeForLinking(deps, {
          ownerId: caller.accountId,
          walletAddress: body.wallet_address,
        })
        reply.header('cache-control', 'no-store')
        return challengeView(challenge, requestId)
      },
    }),
    route({
      method: 'PUT',
      path: '/v1/me/wallet',
      summary: "Add a wallet to this owner by the wallet's signature.",
      description:
        'Takes a challenge of POST /v1/me/wallet/challenge or of POST /v1/auth/challenge. The first wallet is the one that the account is known by.',
      tag: 'Wallets',
      access: 'session',
      extension: true,
      body: Closed({ challenge_id: Type.String(), signature: Signature }),
      replies: { 200: Bound },
      refuses: ['owner_account_required', 'invalid_challenge', 'invalid_signature', 'wallet_already_bound'],
      handle: async ({ caller, body, requestId }) =>
        boundView(
          await putWallet(deps, {
            ownerId: caller.accountId,
            challengeId: body.challenge_id,
            signature: body.signature,
            requestId,
          }),
          requestId,
        ),
    }),
  ]
}

function listingRoutes(deps: WalletDeps): Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/me/wallets',
      summary: 'List the wallets of this account, the oldest first.',
      tag: 'Wallets',
      access: 'any',
      extension: true,
      replies: {
        200: Closed({
          data: Type.Array(
            Closed({
              wallet_address: Type.String({ description: 'EIP-55 checksummed' }),
              primary: Type.Boolean({ description: 'The one that the account is known by' }),
              created_at: Time(),
              added_by_account_id: Integer(
                'Whose credential added it: the account itself, its Agent, or the owner that linked it',
              ),
              verified_at: Nullable(Time('When its key last proved itself; null while only its address is known')),
            }),
          ),
        }),
      },
      refuses: [],
      handle: async ({ caller }) => {
        const rows = await listWallets(deps, caller.accountId)
        return {
          data: rows.map((row) => ({
            wallet_address: getAddress(row.address),
            primary: row.is_primary,
            created_at: row.created_at.toISOString(),
            added_by_account_id: integer(row.added_by),
            verified_at: row.verified_at?.toISOString() ?? null,
          })),
        }
      },
    }),
    route({
      method: 'DELETE',
      path: '/v1/me/wallets/:address',
      summary: 'Remove a wallet from this owner, unless an order that it pays is open.',
      tag: 'Wallets',
      access: 'session',
      extension: true,
      params: Closed({ address: Type.String({ pattern: ADDRESS }) }),
      replies: { 200: Closed({ ok: Type.Literal(true), request_id: Type.String() }) },
      refuses: ['owner_account_required', 'wallet_not_found', 'wallet_in_use'],
      handle: async ({ caller, params, requestId }) => {
        await removeWallet(deps, {
          ownerId: caller.accountId,
          walletAddress: params.address,
          requestId,
        })
        return { ok: true, request_id: requestId }
      },
    }),
  ]
}

function challengeView(challenge: Challenge, requestId: string) {
  return {
    challenge_id: challenge.id,
    message: challenge.message,
    wallet_address: challenge.walletAddress,
    expires_at: unixSeconds(challenge.expiresAt),
    request_id: requestId,
  }
}

const boundView = (bound: BoundWallet, requestId: string) => ({
  ok: true,
  wallet_address: getAddress(bound.walletAddress),
  account_id: integer(bound.accountId),
  request_id: requestId,
})

const unixSeconds = (time: Date): number => Math.floor(time.getTime() / 1000)
