import { chmod, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { getAddress } from 'viem'
import { privateKeyToAddress } from 'viem/accounts'
import type { Database, Tx } from '../db/database.ts'
import * as accounts from '../identity/accounts/store.ts'
import { isWellFormed, keyHash } from '../identity/keys/secret.ts'
import { createKey } from '../identity/keys/service.ts'
import * as keys from '../identity/keys/store.ts'
import { type SessionDeps, sessionOpener, wouldRefresh } from '../identity/sessions/service.ts'
import { openKeyring } from '../identity/tokens/keyring.ts'
import { createTokens } from '../identity/tokens/service.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Random } from '../kernel/random.ts'

/** The file that tells scripts everything about the development economy. */
export interface DevelopmentFile {
  readonly base_url: string
  readonly database_url: string
  readonly chain: {
    readonly rpc_url: string
    readonly chain_id: number
    readonly asset_id: string
    readonly token_address: string
    readonly recipient_address: string
  }
  /** Top-ups by x402 (docs/x402.md). */
  readonly x402: {
    readonly topup_url: string
    readonly network: string
    readonly asset: string
    readonly pay_to_address: string
    readonly relayer_address: string
  }
  /** Top-up with the chain's own coin. */
  readonly axon: { readonly chain_id: number; readonly pay_to_address: string }
  /** Wallets with tokens and gas and without an account. */
  readonly payers: ReadonlyArray<{ readonly address: string; readonly private_key: string }>
  readonly oidc: {
    readonly issuer: string
    /** The name in /v1/auth/oidc/{provider}/start. */
    readonly provider: string
    readonly people: ReadonlyArray<{ readonly email: string; readonly login_hint: string }>
  }
  readonly owner: {
    readonly account_id: number
    readonly email: string
    readonly wallet_address: string
    readonly private_key: string
    readonly api_key: string
    readonly refresh_token: string
  }
  readonly agent: {
    readonly account_id: number
    readonly wallet_address: string
    readonly private_key: string
    readonly api_key: string
    readonly refresh_token: string
  }
}

/** The first two keys of the mnemonic "test test … junk", which every Ethereum development chain funds and everyone knows. */
const OWNER_KEY = '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80'
const AGENT_KEY = '0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d'
const OWNER_EMAIL = 'owner@example.com'

/** The people of the economy, as they stand in the database. */
export interface People {
  readonly owner: DevelopmentFile['owner']
  readonly agent: DevelopmentFile['agent']
  /** False when they were there already. */
  readonly created: boolean
}

/** Makes the owner and its linked Agent, both with a key and a session; keys and sessions of an earlier start are kept while they work. */
export async function seedEconomy(
  deps: { db: Database; random: Random; clock: Clock; pepper: Buffer },
  earlier: DevelopmentFile | undefined,
): Promise<People> {
  const ownerWallet = privateKeyToAddress(OWNER_KEY)
  const agentWallet = privateKeyToAddress(AGENT_KEY)
  const { ownerId, agentId, created } = await deps.db
    .transaction()
    .execute((tx) => findOrMake(tx, { ownerWallet, agentWallet }))
  const keyFor = async (accountId: bigint, old: string | undefined): Promise<string> => {
    const row = old && isWellFormed(old) ? await keys.findByHash(deps.db, keyHash(old, deps.pepper)) : undefined
    if (old && row?.alive && row.account_id === accountId) return old
    return (
      await createKey(deps, { accountId, name: 'development' }, { actor: { kind: 'system', name: 'development' } })
    ).secret
  }
  const sessions: SessionDeps = {
    ...deps,
    tokens: createTokens({ keyring: await openKeyring(deps), clock: deps.clock }),
  }
  return {
    created,
    owner: {
      account_id: Number(ownerId),
      email: OWNER_EMAIL,
      wallet_address: getAddress(ownerWallet),
      private_key: OWNER_KEY,
      api_key: await keyFor(ownerId, earlier?.owner?.api_key),
      refresh_token: await sessionFor(sessions, ownerId, earlier?.owner?.refresh_token),
    },
    agent: {
      account_id: Number(agentId),
      wallet_address: getAddress(agentWallet),
      private_key: AGENT_KEY,
      api_key: await keyFor(agentId, earlier?.agent?.api_key),
      refresh_token: await sessionFor(sessions, agentId, earlier?.agent?.refresh_token),
    },
  }
}

/** The accounts of these wallets, made and linked when they are not there. */
async function findOrMake(
  tx: Tx,
  { ownerWallet, agentWallet }: { ownerWallet: string; agentWallet: string },
): Promise<{ ownerId: bigint; agentId: bigint; created: boolean }> {
  const known = await accounts.accountOfWallet(tx, ownerWallet)
  const knownAgent = await accounts.accountOfWallet(tx, agentWallet)
  if (known && knownAgent) return { ownerId: known.id, agentId: knownAgent.id, created: false }
  const owner = await accounts.insert(tx, {
    accountType: 'owner',
    walletAddress: ownerWallet,
    email: OWNER_EMAIL,
    label: 'Development owner',
  })
  const agent = await accounts.insert(tx, {
    accountType: 'agent',
    walletAddress: agentWallet,
    email: undefined,
    label: 'Development Agent',
  })
  // the keys of both are in the file that this makes
  for (const wallet of [ownerWallet, agentWallet]) await accounts.noteProof(tx, wallet)
  await accounts.link(tx, {
    agentId: agent,
    ownerId: owner,
    billingMode: 'self_then_owner',
    budget: accounts.UNLIMITED,
  })
  return { ownerId: owner, agentId: agent, created: true }
}

/** The refresh token of an earlier start while it can be exchanged, else that of a new session. */
async function sessionFor(deps: SessionDeps, accountId: bigint, old: string | undefined): Promise<string> {
  if (old && (await wouldRefresh(deps, old))) return old
  const opener = sessionOpener(deps)
  const session = await deps.db.transaction().execute((tx) => opener.start(tx, { accountId, device: 'development' }))
  return (await opener.issue(session)).refreshToken
}

/** The file of an earlier start, if it can be read. */
export async function readDevelopmentFile(folder: string): Promise<DevelopmentFile | undefined> {
  try {
    return JSON.parse(await readFile(join(folder, 'dev.json'), 'utf8')) as DevelopmentFile
  } catch {
    return undefined
  }
}

/** Writes the file whole or not at all, readable by nobody else. */
export async function writeDevelopmentFile(folder: string, content: DevelopmentFile): Promise<void> {
  const path = join(folder, 'dev.json')
  await writeFile(`${path}.partial`, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 })
  await chmod(`${path}.partial`, 0o600)
  await rename(`${path}.partial`, path)
}
