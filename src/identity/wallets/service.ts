import { createHash } from 'node:crypto'
import type { Database, Tx } from '../../db/database.ts'
import type { ChallengePurpose } from '../../db/schema.ts'
import { assert } from '../../kernel/assert.ts'
import { Fault } from '../../kernel/errors.ts'
import { requireAgent, requireOwner } from '../accounts/requirement.ts'
import { accountOfWallet } from '../accounts/store.ts'
import { recordAction } from '../audit-log/service.ts'
import {
  type Challenge,
  type ChallengeDeps,
  consumeChallenge,
  type OpenChallenge,
  openChallenge,
  provenChallenge,
} from '../challenges/service.ts'
import * as store from './store.ts'
import { bindingPurpose, linkingPurpose } from './texts.ts'

/** What wallets need from outside. */
export type WalletDeps = ChallengeDeps

/** A delegation as the owner hands it to its Agent. The token is in this answer and nowhere else. */
export interface NewDelegation {
  readonly token: string
  readonly expiresAt: Date
}

const TOKEN_PREFIX = 'dlg_'
const TOKEN_BYTES = 32
const LIFETIME_MINUTES = 10

/**
 * Lets a linked Agent bind one wallet to this owner, within 10 minutes, once. The newest takes an older one's place.
 * Refuses with `owner_account_required`, `agent_not_linked`.
 */
export async function delegate(
  deps: WalletDeps,
  { ownerId, agentWallet }: { ownerId: bigint; agentWallet: string },
): Promise<NewDelegation> {
  await requireOwner(deps.db, ownerId)
  const agentId = await store.findLinkedAgent(deps.db, {
    ownerId,
    walletAddress: agentWallet.toLowerCase(),
  })
  const token = TOKEN_PREFIX + deps.random.bytes(TOKEN_BYTES).toString('base64url')
  const expiresAt =
    agentId &&
    (await store.putDelegation(deps.db, {
      ownerId,
      agentId,
      tokenHash: hashOf(token),
      lifetimeMinutes: LIFETIME_MINUTES,
    }))
  if (!expiresAt)
    throw new Fault('agent_not_linked', {
      message: 'No Agent with this wallet is linked to this account. Link it by POST /v1/me/agents.',
    })
  return { token, expiresAt }
}

/**
 * Makes the text by which an owner's wallet agrees to be bound, for the Agent that has the delegation. The delegation
 * is read, not used up. Refuses with `agent_account_required`, `delegation_invalid`, `wallet_already_bound`.
 */
export async function challengeForBinding(
  deps: WalletDeps,
  asked: { agentId: bigint; delegationToken: string; walletAddress: string },
): Promise<Challenge> {
  const agent = await requireAgent(deps.db, asked.agentId)
  assert(agent.wallet_address, `Agent ${agent.id} has no wallet`)
  const delegation = await findDelegation(deps.db, asked)
  if (await accountOfWallet(deps.db, asked.walletAddress)) throw new Fault('wallet_already_bound')
  return openChallenge(deps, {
    purpose: 'owner_wallet_binding',
    walletAddress: asked.walletAddress,
    path: '/v1/me/owner-wallet/bind',
    ...bindingPurpose({ id: delegation.owner_account_id, label: delegation.owner_label }, agent.wallet_address),
    ownerAccountId: delegation.owner_account_id,
    agentAccountId: agent.id,
    delegationId: delegation.id,
  })
}

/** A wallet that was given to an account. */
export interface BoundWallet {
  /** Lower-case. */
  readonly walletAddress: string
  readonly accountId: bigint
}

/**
 * Binds a wallet to the owner that delegated it, by the wallet's signature. Challenge, delegation and wallet are one
 * transaction: whatever refuses leaves all three as they were. Refuses with `agent_account_required`,
 * `delegation_invalid`, `invalid_challenge`, `invalid_signature`, `wallet_already_bound`.
 */
export async function bindWallet(
  deps: WalletDeps,
  asked: {
    agentId: bigint
    delegationToken: string
    challengeId: string
    signature: string
    requestId: string
  },
): Promise<BoundWallet> {
  await requireAgent(deps.db, asked.agentId)
  const delegation = await findDelegation(deps.db, asked)
  const challenge = await proven(deps.db, asked, ['owner_wallet_binding'])
  // made under another delegation, for another owner or by another Agent: it says so, and binds to nobody else
  if (challenge.delegation_id !== delegation.id || challenge.agent_account_id !== asked.agentId)
    throw invalidChallenge()
  return deps.db.transaction().execute(async (tx) => {
    if (!(await store.consumeDelegation(tx, { agentId: asked.agentId, id: delegation.id })))
      throw new Fault('delegation_invalid')
    if (!(await consumeChallenge(tx, challenge.id))) throw invalidChallenge()
    const wallet = {
      walletAddress: challenge.wallet_address,
      accountId: delegation.owner_account_id,
    }
    if (
      !(await store.add(tx, {
        address: wallet.walletAddress,
        accountId: wallet.accountId,
        addedBy: asked.agentId,
      }))
    )
      throw new Fault('wallet_already_bound')
    await record(tx, 'bind.wallet', {
      ...wallet,
      actorId: asked.agentId,
      requestId: asked.requestId,
    })
    return wallet
  })
}

/** Makes the text by which a wallet agrees to become this owner's. Refuses with `owner_account_required`, `wallet_already_bound`. */
export async function challengeForLinking(
  deps: WalletDeps,
  { ownerId, walletAddress }: { ownerId: bigint; walletAddress: string },
): Promise<Challenge> {
  const owner = await requireOwner(deps.db, ownerId)
  const holder = await accountOfWallet(deps.db, walletAddress)
  if (holder && holder.id !== ownerId) throw new Fault('wallet_already_bound')
  return openChallenge(deps, {
    purpose: 'wallet_linking',
    walletAddress,
    path: '/v1/me/wallet',
    ...linkingPurpose(owner),
    ownerAccountId: ownerId,
  })
}

/**
 * Gives a wallet to this owner, by the wallet's signature of a challenge of its own or of a sign-in challenge; its own
 * wallet is proved again. Refuses with `owner_account_required`, `invalid_challenge`, `invalid_signature`, `wallet_already_bound`.
 */
export async function putWallet(
  deps: WalletDeps,
  asked: { ownerId: bigint; challengeId: string; signature: string; requestId: string },
): Promise<BoundWallet> {
  await requireOwner(deps.db, asked.ownerId)
  const challenge = await proven(deps.db, asked, ['wallet_linking', 'agent_sign_in'])
  // a sign-in challenge names no owner
  if (challenge.owner_account_id !== null && challenge.owner_account_id !== asked.ownerId) throw invalidChallenge()
  return deps.db.transaction().execute(async (tx) => {
    if (!(await consumeChallenge(tx, challenge.id))) throw invalidChallenge()
    const wallet = {
      address: challenge.wallet_address,
      accountId: asked.ownerId,
      addedBy: asked.ownerId,
    }
    if (!(await store.add(tx, wallet)) && !(await store.proveAgain(tx, wallet))) throw new Fault('wallet_already_bound')
    const bound = { walletAddress: wallet.address, accountId: wallet.accountId }
    await record(tx, 'bind.wallet', {
      ...bound,
      actorId: asked.ownerId,
      requestId: asked.requestId,
    })
    return bound
  })
}

/** The wallets of an account, the oldest first. */
export function listWallets(deps: WalletDeps, accountId: bigint): Promise<store.WalletRow[]> {
  return store.list(deps.db, accountId)
}

/** Takes a wallet from this owner. Refuses with `owner_account_required`, `wallet_not_found`, `wallet_in_use`. */
export async function removeWallet(
  deps: WalletDeps,
  { ownerId, walletAddress, requestId }: { ownerId: bigint; walletAddress: string; requestId: string },
): Promise<void> {
  await requireOwner(deps.db, ownerId)
  const wallet = { address: walletAddress.toLowerCase(), accountId: ownerId }
  await deps.db.transaction().execute(async (tx) => {
    if (!(await store.lock(tx, wallet))) throw new Fault('wallet_not_found')
    if (await store.paysOpenOrder(tx, wallet)) throw new Fault('wallet_in_use')
    await store.remove(tx, wallet)
    await record(tx, 'remove.wallet', {
      walletAddress: wallet.address,
      accountId: ownerId,
      actorId: ownerId,
      requestId,
    })
  })
}

async function findDelegation(
  db: Database,
  asked: { agentId: bigint; delegationToken: string },
): Promise<store.Delegation> {
  const delegation = await store.findDelegation(db, {
    agentId: asked.agentId,
    tokenHash: hashOf(asked.delegationToken),
  })
  if (!delegation) throw new Fault('delegation_invalid')
  return delegation
}

/** Last in its transaction: it locks the end of the log. */
async function record(
  tx: Tx,
  action: 'bind.wallet' | 'remove.wallet',
  what: BoundWallet & { actorId: bigint; requestId: string },
): Promise<void> {
  const wallet = { wallet_address: what.walletAddress }
  await recordAction(tx, {
    actor: { kind: 'account', id: what.actorId },
    action,
    targetId: what.accountId,
    ...(action === 'bind.wallet' ? { after: wallet } : { before: wallet }),
    requestId: what.requestId,
  })
}

/** 256 random bits need no pepper: nobody finds them from their hash. */
const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest()

/** The challenge that the signature proves; wrong proofs are wrong requests here, since the caller is signed in. */
async function proven(
  db: Database,
  asked: { challengeId: string; signature: string },
  purposes: readonly ChallengePurpose[],
): Promise<OpenChallenge> {
  try {
    return await provenChallenge(db, { ...asked, purpose: purposes })
  } catch (error) {
    if (error instanceof Fault && error.code === 'invalid_signature')
      throw new Fault('invalid_signature', { signedIn: true })
    if (error instanceof Fault && error.code === 'invalid_challenge') throw invalidChallenge()
    throw error
  }
}

function invalidChallenge(): Fault {
  return new Fault('invalid_challenge', {
    signedIn: true,
    message:
      'This challenge cannot be answered here: it does not exist, has another purpose, was made for somebody else or under another delegation, has expired, was answered before, or was closed after five wrong signatures. Ask for a new one.',
  })
}
