import type { Database, Tx } from '../../db/database.ts'
import type { BillingMode } from '../../db/schema.ts'
import { assert } from '../../kernel/assert.ts'
import { Fault } from '../../kernel/errors.ts'
import { requireAgent, requireOwner } from '../accounts/requirement.ts'
import { accountOfWallet, type BudgetLimits, isWalletTaken, link, UNLIMITED } from '../accounts/store.ts'
import { recordAction } from '../audit-log/service.ts'
import * as store from './store.ts'

/** What links need from outside. */
export interface LinkDeps {
  readonly db: Database
}

/** An Agent to link, by its wallet. */
export interface NewLink {
  readonly ownerId: bigint
  /** In any case. */
  readonly walletAddress: string
  readonly label?: string | undefined
  readonly billingMode?: BillingMode | undefined
  readonly budget?: Partial<BudgetLimits> | undefined
  readonly requestId: string
}

/** One of an owner's Agents, and the request that asks for something to be done to it. */
export interface Named {
  readonly ownerId: bigint
  readonly agentId: bigint
  readonly requestId: string
}

/** How often a transaction is tried: the second time it finds the account that somebody made for the wallet meanwhile. */
const ATTEMPTS_MAX = 5

/** One page of an owner's Agents, newest first; `next` is 0 at the end. Refuses with `owner_account_required`. */
export async function listAgents(
  deps: LinkDeps,
  page: { ownerId: bigint; beforeId: bigint | undefined; limit: number },
): Promise<{ agents: store.LinkedAgent[]; next: bigint }> {
  await requireOwner(deps.db, page.ownerId)
  const { beforeId, ...selection } = page
  const rows = await store.list(deps.db, {
    ...selection,
    ...(beforeId === undefined ? {} : { beforeId }),
    limit: page.limit + 1,
  })
  const agents = rows.slice(0, page.limit)
  return { agents, next: rows.length > page.limit ? (agents.at(-1)?.id ?? 0n) : 0n }
}

/**
 * Puts the Agent with this wallet under the owner; an unknown wallet becomes an Agent account. Nobody is asked:
 * only the owner's money is at stake. A link begins with a budget of its own that has spent nothing, also when the
 * two were linked before. Refuses with `owner_account_required`, `wallet_belongs_to_owner`, `agent_already_linked`.
 */
export async function linkAgent(deps: LinkDeps, wanted: NewLink): Promise<store.LinkedAgent> {
  await requireOwner(deps.db, wanted.ownerId)
  return repeating(deps.db, async (tx) => {
    const known = await accountOfWallet(tx, wanted.walletAddress)
    if (known?.account_type === 'owner') throw new Fault('wallet_belongs_to_owner')
    const agentId = known?.id ?? (await store.insertAgent(tx, wanted))
    await store.lockFamilies(tx, { agentId, ownerId: wanted.ownerId })
    const owner = await store.ownerOf(tx, agentId)
    if (owner !== undefined) {
      throw new Fault(
        'agent_already_linked',
        owner === wanted.ownerId
          ? {
              message: `This Agent is linked to this account already, as ${agentId}: change it by PATCH /v1/me/agents/${agentId}.`,
            }
          : {},
      )
    }
    await link(tx, {
      agentId,
      ownerId: wanted.ownerId,
      billingMode: wanted.billingMode ?? 'self_then_owner',
      budget: { ...UNLIMITED, ...wanted.budget },
      label: wanted.label ?? '',
    })
    const linked = await one(tx, wanted.ownerId, agentId)
    await record(tx, 'create.link', {
      actorId: wanted.ownerId,
      agentId,
      requestId: wanted.requestId,
      after: { owner_account_id: wanted.ownerId, ...terms(linked) },
    })
    return linked
  })
}

/** Changes label, billing mode, limits, or whether the owner funds anything. The next hold is decided by it. Refuses with `agent_not_linked`. */
export async function changeAgent(deps: LinkDeps, which: Named, change: store.Change): Promise<store.LinkedAgent> {
  await requireOwner(deps.db, which.ownerId)
  return repeating(deps.db, async (tx) => {
    await lockLink(tx, which)
    const before = await one(tx, which.ownerId, which.agentId)
    await store.change(tx, which.agentId, change)
    const after = await one(tx, which.ownerId, which.agentId)
    await record(tx, 'change.link', {
      ...which,
      actorId: which.ownerId,
      before: terms(before),
      after: terms(after),
    })
    return after
  })
}

/** Ends a link from the owner's side. What is held goes on being paid by whoever it was granted by. Refuses with `agent_not_linked`. */
export async function unlinkAgent(deps: LinkDeps, which: Named): Promise<void> {
  await requireOwner(deps.db, which.ownerId)
  await repeating(deps.db, async (tx) => {
    await lockLink(tx, which)
    await store.remove(tx, which.agentId)
    await record(tx, 'remove.link', {
      ...which,
      actorId: which.ownerId,
      before: { owner_account_id: which.ownerId },
    })
  })
}

/** Ends a link from the Agent's side. Refuses with `agent_account_required`, `owner_link_not_found`. */
export async function leaveOwner(
  deps: LinkDeps,
  { agentId, requestId }: { agentId: bigint; requestId: string },
): Promise<void> {
  await requireAgent(deps.db, agentId)
  await repeating(deps.db, async (tx) => {
    await store.lockFamilies(tx, { agentId })
    const ownerId = await store.ownerOf(tx, agentId)
    if (ownerId === undefined) throw new Fault('owner_link_not_found')
    await store.remove(tx, agentId)
    await record(tx, 'remove.link', {
      actorId: agentId,
      agentId,
      requestId,
      before: { owner_account_id: ownerId },
    })
  })
}

/** Locks both families. Asked before as well, so that nobody can hold up a stranger's Agent. */
async function lockLink(tx: Tx, { ownerId, agentId }: { ownerId: bigint; agentId: bigint }): Promise<void> {
  if ((await store.ownerOf(tx, agentId)) !== ownerId) throw new Fault('agent_not_linked')
  await store.lockFamilies(tx, { agentId, ownerId })
  if ((await store.ownerOf(tx, agentId)) !== ownerId) throw new Fault('agent_not_linked')
}

async function one(tx: Tx, ownerId: bigint, agentId: bigint): Promise<store.LinkedAgent> {
  const [agent] = await store.list(tx, { ownerId, agentId, limit: 1 })
  assert(agent, `the link of Agent ${agentId} is locked and not there`)
  return agent
}

/** What of a link is recorded: who pays, and how much. */
function terms({
  label,
  billing_mode,
  funding_paused,
  per_call_micro,
  daily_micro,
  monthly_micro,
  total_micro,
}: store.LinkedAgent): Terms {
  return {
    label,
    billing_mode,
    funding_paused,
    per_call_micro,
    daily_micro,
    monthly_micro,
    total_micro,
  }
}

type Terms = Readonly<Record<string, string | bigint | boolean | null>>

/** Last in its transaction: it locks the end of the log. */
async function record(
  tx: Tx,
  action: 'create.link' | 'change.link' | 'remove.link',
  what: { actorId: bigint; agentId: bigint; requestId: string; before?: Terms; after?: Terms },
): Promise<void> {
  const { before, after, requestId } = what
  await recordAction(tx, {
    actor: { kind: 'account', id: what.actorId },
    action,
    targetId: what.agentId,
    ...(before ? { before } : {}),
    ...(after ? { after } : {}),
    requestId,
  })
}

/** One transaction, begun anew when the wallet got its account elsewhere at this moment, or a family moved while it waited. */
async function repeating<T>(db: Database, work: (tx: Tx) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await db.transaction().execute(work)
    } catch (error) {
      if (attempt === ATTEMPTS_MAX || !(store.isWorthRepeating(error) || isWalletTaken(error))) throw error
    }
  }
}
