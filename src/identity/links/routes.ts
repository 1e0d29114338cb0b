import { type Static, Type } from 'typebox'
import { getAddress } from 'viem/utils'
import {
  Closed,
  CursorQuery,
  IdParameter,
  Integer,
  integer,
  Micro,
  Nullable,
  readCursor,
  Time,
} from '../../http/fields.ts'
import { type Route, route } from '../../http/route.ts'
import type { BudgetLimits } from '../accounts/store.ts'
import { changeAgent, type LinkDeps, leaveOwner, linkAgent, listAgents, unlinkAgent } from './service.ts'
import type { LinkedAgent } from './store.ts'

const LABEL_LENGTH_MAX = 100

const Limit = Type.Optional(Nullable(Micro('Microcredits; null is no limit')))
const BudgetBody = Closed({
  per_call_micro: Limit,
  daily_micro: Limit,
  monthly_micro: Limit,
  total_micro: Limit,
})
// no control characters: a label is shown in lists and in texts that wallets sign
const Label = Type.String({
  maxLength: LABEL_LENGTH_MAX,
  pattern: '^\\P{C}*$',
  description: "The owner's name for the Agent",
})
const BillingMode = Type.Enum(['self_only', 'self_then_owner', 'owner_only'], {
  description: 'Whose Credits a call of the Agent takes, in which order',
})

const Window = {
  spent_micro: Micro("The owner's Credits that were charged"),
  held_micro: Micro("The owner's Credits that open calls hold"),
}
const ResettingWindow = Closed({ ...Window, resets_at: Time() })

const LinkedAgentView = Closed({
  id: Integer('Account id of the Agent'),
  wallet_address: Type.String({ description: 'EIP-55 checksummed' }),
  label: Label,
  billing_mode: BillingMode,
  funding_paused: Type.Boolean({
    description: 'While true the owner pays for no new call of the Agent',
  }),
  budget: Closed({
    per_call_micro: Nullable(Micro()),
    daily_micro: Nullable(Micro('By UTC day')),
    monthly_micro: Nullable(Micro('By UTC month')),
    total_micro: Nullable(Micro('Since the link began')),
    windows: Closed({ daily: ResettingWindow, monthly: ResettingWindow, total: Closed(Window) }),
  }),
  created_at: Time('When the link began'),
})
const One = Closed({ data: LinkedAgentView })
const Done = Closed({ ok: Type.Literal(true), request_id: Type.String() })

/** Agents of an owner: who they are and what of the owner's Credits they may spend (decisions 1). */
export function linkRoutes(deps: LinkDeps): Route[] {
  return [listRoute(deps), createRoute(deps), changeRoute(deps), ...removeRoutes(deps)]
}

function listRoute(deps: LinkDeps): Route {
  return route({
    method: 'GET',
    path: '/v1/me/agents',
    summary: 'List the Agents of this owner with their limits and what they spent, newest first.',
    tag: 'Agents',
    access: 'any',
    extension: true,
    query: Type.Object({
      ...CursorQuery,
    }),
    replies: {
      200: Closed({
        data: Type.Array(LinkedAgentView),
        next_cursor: Integer('0 when there are no more'),
      }),
    },
    refuses: ['owner_account_required'],
    handle: async ({ caller, query }) => {
      const { agents, next } = await listAgents(deps, { ownerId: caller.accountId, ...readCursor(query) })
      return { data: agents.map(view), next_cursor: integer(next) }
    },
  })
}

function createRoute(deps: LinkDeps): Route {
  return route({
    method: 'POST',
    path: '/v1/me/agents',
    summary: 'Link an Agent by its wallet, so that this owner may pay for its calls.',
    description:
      "Nobody is asked: only the owner's Credits are at stake. An unknown wallet gets an Agent account that its key signs in to later. The owner sees what it paid for, not what the Agent owns.",
    tag: 'Agents',
    access: 'session',
    extension: true,
    body: Closed({
      agent_wallet_address: Type.String({
        pattern: '^0x[0-9a-fA-F]{40}$',
        description: 'In any case',
      }),
      label: Type.Optional(Label),
      billing_mode: Type.Optional(BillingMode),
      budget: Type.Optional(Nullable(BudgetBody)),
    }),
    example: {
      agent_wallet_address: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
      label: 'researcher',
      budget: { daily_micro: 5_000_000 },
    },
    replies: { 200: One },
    refuses: ['owner_account_required', 'wallet_belongs_to_owner', 'agent_already_linked'],
    handle: async ({ caller, body, requestId }) => {
      const agent = await linkAgent(deps, {
        requestId,
        ownerId: caller.accountId,
        walletAddress: body.agent_wallet_address,
        label: body.label,
        billingMode: body.billing_mode,
        budget: limits(body.budget ?? {}),
      })
      return { data: view(agent) }
    },
  })
}

function changeRoute(deps: LinkDeps): Route {
  return route({
    method: 'PATCH',
    path: '/v1/me/agents/:id',
    summary: 'Change label, billing mode or limits of an Agent, or stop paying for it: funding_paused.',
    description:
      'What is not sent stays, limit by limit; "budget": null takes every limit away. It decides every hold that begins after the answer; open calls keep what they hold.',
    tag: 'Agents',
    access: 'session',
    extension: true,
    params: Closed({ id: IdParameter() }),
    body: Closed({
      label: Type.Optional(Label),
      billing_mode: Type.Optional(BillingMode),
      funding_paused: Type.Optional(Type.Boolean()),
      budget: Type.Optional(Nullable(BudgetBody)),
    }),
    replies: { 200: One },
    refuses: ['owner_account_required', 'agent_not_linked'],
    handle: async ({ caller, params, body: { budget, ...members }, requestId }) => {
      const which = { ownerId: caller.accountId, agentId: BigInt(params.id), requestId }
      return {
        data: view(
          await changeAgent(deps, which, {
            ...members,
            ...(budget === undefined ? {} : { budget: limits(budget ?? NO_LIMITS) }),
          }),
        ),
      }
    },
  })
}

function removeRoutes(deps: LinkDeps): Route[] {
  return [
    route({
      method: 'DELETE',
      path: '/v1/me/agents/:id',
      summary: 'Unlink an Agent. Calls that it has begun are still paid as they were granted.',
      tag: 'Agents',
      access: 'session',
      extension: true,
      params: Closed({ id: IdParameter() }),
      replies: { 200: Done },
      refuses: ['owner_account_required', 'agent_not_linked'],
      handle: async ({ caller, params, requestId }) => {
        await unlinkAgent(deps, {
          ownerId: caller.accountId,
          agentId: BigInt(params.id),
          requestId,
        })
        return { ok: true, request_id: requestId }
      },
    }),
    route({
      method: 'DELETE',
      path: '/v1/me/owner-link',
      summary: 'Leave the owner, as the Agent. Its own Credits stay its own.',
      tag: 'Agents',
      access: 'session',
      extension: true,
      replies: { 200: Done },
      refuses: ['agent_account_required', 'owner_link_not_found'],
      handle: async ({ caller, requestId }) => {
        await leaveOwner(deps, { agentId: caller.accountId, requestId })
        return { ok: true, request_id: requestId }
      },
    }),
  ]
}

const NO_LIMITS: Static<typeof BudgetBody> = {
  per_call_micro: null,
  daily_micro: null,
  monthly_micro: null,
  total_micro: null,
}

/** Only the limits that were sent. */
function limits(budget: Static<typeof BudgetBody>): Partial<BudgetLimits> {
  return Object.fromEntries(
    Object.entries(budget).map(([name, value]) => [name, value === null ? null : BigInt(value)]),
  )
}

function view(row: LinkedAgent): Static<typeof LinkedAgentView> {
  const limit = (value: bigint | null): number | null => (value === null ? null : integer(value))
  return {
    id: integer(row.id),
    wallet_address: row.wallet_address === null ? '' : getAddress(row.wallet_address),
    label: row.label,
    billing_mode: row.billing_mode,
    funding_paused: row.funding_paused,
    budget: {
      per_call_micro: limit(row.per_call_micro),
      daily_micro: limit(row.daily_micro),
      monthly_micro: limit(row.monthly_micro),
      total_micro: limit(row.total_micro),
      windows: {
        daily: {
          spent_micro: integer(row.daily_spent_micro),
          held_micro: integer(row.daily_held_micro),
          resets_at: row.daily_resets_at.toISOString(),
        },
        monthly: {
          spent_micro: integer(row.monthly_spent_micro),
          held_micro: integer(row.monthly_held_micro),
          resets_at: row.monthly_resets_at.toISOString(),
        },
        total: {
          spent_micro: integer(row.total_spent_micro),
          held_micro: integer(row.total_held_micro),
        },
      },
    },
    created_at: row.created_at.toISOString(),
  }
}
