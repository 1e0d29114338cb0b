import { createHash } from 'node:crypto'
import type { Database, Tx } from '../../db/database.ts'
import type { AccountStatus } from '../../db/schema.ts'
import { Fault } from '../../kernel/errors.ts'
import type { Random } from '../../kernel/random.ts'
import * as accounts from '../accounts/store.ts'
import type { LiveSession, SessionOpener, TokenPair } from '../sign-in.ts'
import { type Identified, type IdentityProvider, NotIdentified, type ProviderRefusal } from './identity-provider.ts'
import * as store from './store.ts'

/** What owner sign-in needs from outside. */
export interface OwnerSignInDeps {
  readonly db: Database
  readonly random: Random
  readonly sessions: SessionOpener
  /** By name; without prototype. */
  readonly providers: Readonly<Record<string, IdentityProvider>>
  /** Takes one use of an invitation inside the transaction that makes the account; undefined when it is no good. */
  readonly consumeInvitation: (tx: Tx, codeHash: Buffer) => Promise<bigint | undefined>
  readonly invitationHash: (code: string) => Buffer
  /** True: nobody new registers without an invitation code. */
  readonly requireInvitation: boolean
  /** Where clients reach this server, without a trailing slash. */
  readonly publicUrl: () => string
  /** Told why somebody could not sign in; people only read a word. */
  readonly onTrouble: (message: string, error: unknown) => void
}

/** Why a new account was not made: nothing is wrong with the person, only with the invitation. */
type RegistrationRefusal = 'invitation_invalid' | 'invitation_required'

/** Every word that the console is given when a sign-in did not succeed; docs/owner-sign-in.md explains each. */
export type SignInError =
  | ProviderRefusal
  | RegistrationRefusal
  | 'sign_in_expired'
  | 'account_banned'
  | 'account_deactivated'

/** What the browser brings back to the console. */
export type SignInOutcome =
  | { readonly code: string; readonly returnTo: string }
  | {
      readonly error: SignInError
      readonly registrationId: string | undefined
      readonly returnTo: string
    }

/** From the start to the callback. */
export const LOGIN_SECONDS = 600
/** From the callback until the page has its tokens. */
const CODE_SECONDS = 60
/** For correcting an invitation code. */
const REGISTRATION_SECONDS = 900
const SECRET_BYTES = 32

/**
 * Begins a sign-in: where to send the browser, and what to bind it to the visit with. Rejects with NotIdentified
 * when the provider cannot be asked, with `identity_provider_not_found` when there is none of this name.
 */
export async function beginSignIn(
  deps: OwnerSignInDeps,
  wanted: {
    provider: string
    invitationCode: string | undefined
    returnTo: string
    loginHint: string | undefined
  },
): Promise<{ url: string; stateHash: Buffer }> {
  const provider = providerNamed(deps, wanted.provider)
  const state = secret(deps)
  const visit = {
    redirectUri: redirectUri(deps, wanted.provider),
    state,
    nonce: secret(deps),
    codeVerifier: secret(deps),
  }
  const url = await provider.authorizationUrl(visit, wanted.loginHint)
  const stateHash = hash(state)
  await store.insertLogin(deps.db, {
    ...visit,
    provider: wanted.provider,
    stateHash,
    invitationHash: hashOf(deps, wanted.invitationCode),
    returnTo: wanted.returnTo,
    lifetimeSeconds: LOGIN_SECONDS,
  })
  return { url, stateHash }
}

/**
 * Finishes a sign-in when the browser is back. `isBound` tells whether it is the browser that began. Everything
 * that can go wrong is an outcome: a person who comes from a provider is never shown an error of ours.
 */
export async function finishSignIn(
  deps: OwnerSignInDeps,
  back: { provider: string; query: string; isBound: (stateHash: Buffer) => boolean },
): Promise<SignInOutcome> {
  const provider = providerNamed(deps, back.provider)
  const callbackUrl = new URL(`${redirectUri(deps, back.provider)}?${back.query}`)
  const state = callbackUrl.searchParams.get('state') ?? ''
  const stateHash = hash(state)
  // taken before the provider is asked: a second callback of this visit finds nothing
  const login = back.isBound(stateHash)
    ? await store.takeLogin(deps.db, { stateHash, provider: back.provider })
    : undefined
  if (!login) return { error: 'sign_in_expired', registrationId: undefined, returnTo: '' }
  const { returnTo, ...visit } = login
  try {
    const bound = { ...visit, redirectUri: redirectUri(deps, back.provider), state }
    const person = await provider.identify(bound, callbackUrl)
    return { ...(await admitFromProvider(deps, person, login.invitationHash)), returnTo }
  } catch (error) {
    if (!(error instanceof NotIdentified)) throw error
    if (error.refusal !== 'sign_in_denied')
      deps.onTrouble(`a sign-in by ${back.provider} failed: ${error.refusal}`, error)
    return { error: error.refusal, registrationId: undefined, returnTo }
  }
}

/** Exchanges the code of a finished sign-in, once. Refuses with `invalid_sign_in_code`, `account_banned` or `account_deactivated`. */
export async function exchangeCode(
  deps: OwnerSignInDeps,
  { code, device }: { code: string; device: string | undefined },
): Promise<SignedInOwner> {
  const session = await deps.db.transaction().execute(async (tx) => {
    const account = await store.takeCode(tx, hash(code))
    if (!account) throw new Fault('invalid_sign_in_code')
    refuseInactive(account.status)
    return deps.sessions.start(tx, { accountId: account.id, device })
  })
  return signedIn(deps, session)
}

/** An owner who signed in. */
export interface SignedInOwner {
  readonly accountId: bigint
  readonly pair: TokenPair
}

/**
 * Registers someone whom a provider vouched for and whose invitation code was no good, with a corrected code or
 * without one. A wrong code leaves the registration open. Who has got an account meanwhile is signed in, whatever
 * the code. Refuses with `invalid_registration`, `invitation_invalid` or `invitation_required`.
 */
export async function register(
  deps: OwnerSignInDeps,
  wanted: {
    registrationId: string
    invitationCode: string | undefined
    device: string | undefined
  },
): Promise<SignedInOwner> {
  const idHash = hash(wanted.registrationId)
  const invitationHash = hashOf(deps, wanted.invitationCode)
  const outcome = await unlessBeaten(() =>
    deps.db.transaction().execute(async (tx) => {
      const person = await store.lockRegistration(tx, idHash)
      if (!person) throw new Fault('invalid_registration')
      const email = person.email ?? undefined
      const admitted = await admit(tx, deps, { ...person, email }, invitationHash)
      if ('refused' in admitted) {
        // counted, so this transaction ends well and the refusal comes after it
        if (admitted.refused === 'invitation_invalid') await store.noteFailedAttempt(tx, idHash)
        return admitted
      }
      await store.deleteRegistration(tx, idHash)
      refuseInactive(admitted.status)
      return deps.sessions.start(tx, { accountId: admitted.id, device: wanted.device })
    }),
  )
  if ('refused' in outcome) throw new Fault(outcome.refused)
  return signedIn(deps, outcome)
}

/** What to do with somebody who comes from a provider: a code for the page, or a registration that is left open. */
function admitFromProvider(
  deps: OwnerSignInDeps,
  person: Identified,
  invitationHash: Buffer | undefined,
): Promise<{ code: string } | { error: SignInError; registrationId: string | undefined }> {
  return unlessBeaten(() =>
    deps.db.transaction().execute(async (tx) => {
      const admitted = await admit(tx, deps, person, invitationHash)
      if ('refused' in admitted) {
        const registrationId = secret(deps)
        await store.insertRegistration(tx, {
          ...person,
          idHash: hash(registrationId),
          lifetimeSeconds: REGISTRATION_SECONDS,
        })
        return { error: admitted.refused, registrationId }
      }
      if (admitted.status !== 'active') return { error: inactive(admitted.status), registrationId: undefined }
      const code = secret(deps)
      await store.insertCode(tx, {
        hash: hash(code),
        accountId: admitted.id,
        lifetimeSeconds: CODE_SECONDS,
      })
      return { code }
    }),
  )
}

/** The account of this person, made now if they are new: the only way in which owners come into being by signing in. */
async function admit(
  tx: Tx,
  deps: OwnerSignInDeps,
  person: Identified,
  invitationHash: Buffer | undefined,
): Promise<{ id: bigint; status: AccountStatus } | { refused: RegistrationRefusal }> {
  const known = await store.findOwner(tx, person)
  // invitations are for the first time only: an owner's code is not even looked at (spec 5.8)
  if (known) return known
  if (!invitationHash && deps.requireInvitation) return { refused: 'invitation_required' }
  const invitationId = invitationHash && (await deps.consumeInvitation(tx, invitationHash))
  if (invitationHash && invitationId === undefined) return { refused: 'invitation_invalid' }
  const owner = { accountType: 'owner', walletAddress: undefined, label: undefined } as const
  const accountId = await accounts.insert(tx, { ...owner, email: person.email })
  await store.insertIdentity(tx, { ...person, accountId, invitationId })
  return { id: accountId, status: 'active' }
}

/** When the same person registers twice at one moment, the slower transaction was undone whole: it finds the account now. */
function unlessBeaten<T>(work: () => Promise<T>): Promise<T> {
  return work().catch((error: unknown) => (store.isIdentityTaken(error) ? work() : Promise.reject(error)))
}

async function signedIn(deps: OwnerSignInDeps, session: LiveSession): Promise<SignedInOwner> {
  return { accountId: session.accountId, pair: await deps.sessions.issue(session) }
}

function providerNamed({ providers }: OwnerSignInDeps, name: string): IdentityProvider {
  const provider = providers[name]
  if (!provider)
    throw new Fault('identity_provider_not_found', {
      message: `There is no identity provider of this name. GET /v1/auth/oidc/providers lists them.`,
    })
  return provider
}

const redirectUri = (deps: OwnerSignInDeps, provider: string): string =>
  `${deps.publicUrl()}/v1/auth/oidc/${provider}/callback`

const inactive = (status: Exclude<AccountStatus, 'active'>) =>
  status === 'banned' ? 'account_banned' : 'account_deactivated'

function refuseInactive(status: AccountStatus): void {
  if (status !== 'active') throw new Fault(inactive(status))
}

/** An empty code is none. */
const hashOf = (deps: OwnerSignInDeps, code: string | undefined): Buffer | undefined =>
  code === undefined || code.trim() === '' ? undefined : deps.invitationHash(code)

const secret = ({ random }: OwnerSignInDeps): string => random.bytes(SECRET_BYTES).toString('base64url')

const hash = (text: string): Buffer => createHash('sha256').update(text).digest()
