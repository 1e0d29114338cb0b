import type { APIRequestContext } from 'playwright-core'
import { privateKeyToAccount } from 'viem/accounts'
import type { BrowserWorld } from './world.ts'

/** Somebody with an account and a key for programs. */
export interface Person {
  readonly accountId: number
  readonly email: string
  /** Empty for who has none. */
  readonly apiKey: string
}

interface NewOwner {
  /** Of the address, `<name>@example.com`. */
  readonly name: string
  /** Granted by the operator. */
  readonly credits?: number
  /** Also sees the operator's pages. */
  readonly admin?: boolean
  /** Of the wallet that is linked. */
  readonly privateKey?: string
  readonly withKey?: boolean
}

/** Asks the API with an access token; throws unless it is answered with 2xx. */
type Ask = (path: string, body?: object, method?: 'POST' | 'PUT') => Promise<unknown>

interface SignedIn {
  readonly account: { readonly id: number }
  readonly tokens: { readonly access_token: string; readonly api_key: string }
}

/** A new owner who signed in once. Each test file makes its own, so that none counts on what another one spends. */
export async function newOwner(
  world: BrowserWorld,
  { name, credits = 0, admin = false, privateKey, withKey = true }: NewOwner,
): Promise<Person> {
  const email = `${name}@example.com`
  const visitor = await world.visitor()
  try {
    const { account, tokens } = await signIn(visitor.context.request, email)
    const ask = asking(world, tokens.access_token)
    const made = withKey ? ((await ask('/v1/me/api-keys', { name: 'test' })) as { api_key: string }) : undefined
    if (privateKey) await linkWallet(ask, privateKey)
    if (admin) await world.operator('account', 'role', String(account.id), 'admin', '--reason', 'a test')
    if (credits > 0) await world.operator('credits', 'grant', String(account.id), String(credits), '--reason', 'a test')
    return { accountId: account.id, email, apiKey: made?.api_key ?? '' }
  } finally {
    await visitor.context.close()
  }
}

/** A new Agent with this wallet, linked to the owner, who pays for what it calls. */
export async function newAgent(world: BrowserWorld, owner: Person, privateKey: string): Promise<Person> {
  const visitor = await world.visitor()
  const { tokens } = await signIn(visitor.context.request, owner.email)
  await visitor.context.close()
  const wallet = privateKeyToAccount(privateKey as `0x${string}`)
  await asking(world, tokens.access_token)('/v1/me/agents', { agent_wallet_address: wallet.address, label: 'An Agent' })
  const ask = asking(world)
  const challenge = await ask('/v1/auth/challenge', { wallet_address: wallet.address })
  const signedIn = (await ask('/v1/auth/verify', await signed(challenge, privateKey))) as SignedIn
  return { accountId: signedIn.account.id, email: '', apiKey: signedIn.tokens.api_key }
}

/** Signs in without a page: the identity provider is told who it is, and sends back a code. */
async function signIn(request: APIRequestContext, email: string): Promise<SignedIn> {
  const landed = await request.get(`/v1/auth/oidc/dev/start?login_hint=${email}`)
  const code = new URL(landed.url()).searchParams.get('code')
  const answer = await request.post('/v1/auth/oidc/exchange', { data: { code } })
  if (!answer.ok()) throw new Error(`${email} was not signed in: ${await answer.text()}`)
  return (await answer.json()) as SignedIn
}

const asking =
  (world: BrowserWorld, token?: string): Ask =>
  (path, body, method) =>
    world.ask(path, { ...(token ? { token } : {}), ...(body ? { body } : {}), ...(method ? { method } : {}) })

async function linkWallet(ask: Ask, privateKey: string): Promise<void> {
  const { address } = privateKeyToAccount(privateKey as `0x${string}`)
  const challenge = await ask('/v1/me/wallet/challenge', { wallet_address: address })
  await ask('/v1/me/wallet', await signed(challenge, privateKey), 'PUT')
}

async function signed(challenge: unknown, privateKey: string): Promise<{ challenge_id: string; signature: string }> {
  const { challenge_id, message } = challenge as { challenge_id: string; message: string }
  const signature = await privateKeyToAccount(privateKey as `0x${string}`).signMessage({ message })
  return { challenge_id, signature }
}
