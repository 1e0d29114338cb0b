import type { ChallengePurpose } from '../../db/schema.ts'
import { Fault } from '../../kernel/errors.ts'
import type { SignInGuard } from '../../kernel/limiter.ts'
import * as accounts from '../accounts/store.ts'
import {
  type Challenge,
  type ChallengeDeps,
  consumeChallenge,
  type OpenChallenge,
  openChallenge,
  provenChallenge,
} from '../challenges/service.ts'
import type { FirstKey, LiveSession, SessionOpener, TokenPair } from '../sign-in.ts'
import * as store from './store.ts'

/** What Agent sign-in needs from outside. */
export interface AgentSignInDeps extends ChallengeDeps {
  readonly sessions: SessionOpener
  readonly firstKey: FirstKey
  readonly signInGuard: SignInGuard
}

const PURPOSE: ChallengePurpose = 'agent_sign_in'
const STATEMENT = 'Sign in to Farebox as an Agent. This sends no transaction and costs no gas.'

/** Makes the text that an Agent's wallet signs to sign in. */
export function challengeAgent(deps: ChallengeDeps, walletAddress: string): Promise<Challenge> {
  return openChallenge(deps, {
    purpose: PURPOSE,
    walletAddress,
    path: '/v1/auth/verify',
    statement: STATEMENT,
  })
}

/** A sign-in that succeeded. `apiKey` is there when this sign-in made the account's first key. */
export interface AgentSignedIn {
  readonly accountId: bigint
  readonly pair: TokenPair
  readonly apiKey: string | undefined
}

/**
 * Signs an Agent in by the signature of a challenge; an unknown wallet becomes an Agent account. Refuses with
 * `invalid_challenge`, `invalid_signature`, and, once the signature has proved the wallet, with
 * `owner_wallet_not_allowed`, `account_banned` or `account_deactivated`. Who keeps failing is slowed by `rate_limited`.
 */
export async function signInAgent(
  deps: AgentSignInDeps,
  answer: { challengeId: string; signature: string; device: string | undefined; address: string },
): Promise<AgentSignedIn> {
  const { address } = answer
  const challenge = await provenChallenge(deps.db, { ...answer, purpose: PURPOSE }, (wallet, check) =>
    deps.signInGuard.attempt({ wallet, address }, check),
  )
  const signIn = () => consumeAndSignIn(deps, challenge, answer.device)
  // when the wallet got its account elsewhere at this moment, the whole transaction was undone: it finds that account now
  const { session, apiKey } = await signIn().catch((error: unknown) =>
    accounts.isWalletTaken(error) ? signIn() : Promise.reject(error),
  )
  return { accountId: session.accountId, pair: await deps.sessions.issue(session), apiKey }
}

/** One transaction: whatever refuses leaves the challenge as it was. */
function consumeAndSignIn(
  deps: AgentSignInDeps,
  challenge: OpenChallenge,
  device: string | undefined,
): Promise<{ session: LiveSession; apiKey: string | undefined }> {
  return deps.db.transaction().execute(async (tx) => {
    if (!(await consumeChallenge(tx, challenge.id))) throw new Fault('invalid_challenge')
    const known = await store.lockAccountOf(tx, challenge.wallet_address)
    if (known?.account_type === 'owner') throw new Fault('owner_wallet_not_allowed')
    if (known && known.status !== 'active')
      throw new Fault(known.status === 'banned' ? 'account_banned' : 'account_deactivated')
    const accountId =
      known?.id ??
      (await accounts.insert(tx, {
        accountType: 'agent',
        walletAddress: challenge.wallet_address,
        email: undefined,
        label: undefined,
      }))
    await accounts.noteProof(tx, challenge.wallet_address)
    const apiKey = await deps.firstKey(tx, accountId)
    return { session: await deps.sessions.start(tx, { accountId, device }), apiKey }
  })
}
