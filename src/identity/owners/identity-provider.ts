import {
  AuthorizationResponseError,
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  type Configuration,
  type CustomFetch,
  calculatePKCECodeChallenge,
  customFetch,
  discovery,
  enableNonRepudiationChecks,
  fetchUserInfo,
  None,
} from 'openid-client'
import type { IdentityProviderConfig } from '../../config/oidc.ts'
import { assert } from '../../kernel/assert.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Identity } from './store.ts'

/** Why somebody came back from a provider without being identified. */
export type ProviderRefusal = 'sign_in_denied' | 'sign_in_failed' | 'provider_unavailable'

/** Somebody was not identified. The message is for the log: it holds no code, token, claim or address. */
export class NotIdentified extends Error {
  override name = 'NotIdentified'
  readonly refusal: ProviderRefusal

  constructor(refusal: ProviderRefusal, message: string) {
    super(message)
    this.refusal = refusal
  }
}

/** Somebody whom a provider vouches for. */
export interface Identified extends Identity {
  /** Only when the provider says that it was verified. */
  readonly email: string | undefined
}

/** What one visit is bound to. The provider sees hashes and the nonce; the verifier only at the end. */
export interface Visit {
  readonly redirectUri: string
  readonly state: string
  readonly nonce: string
  readonly codeVerifier: string
}

/** One OpenID Connect provider. Every function rejects with NotIdentified, and within a bounded time. */
export interface IdentityProvider {
  readonly label: string
  /** Where to send the browser. `loginHint` is who it should be, if the provider cares. */
  authorizationUrl(visit: Visit, loginHint: string | undefined): Promise<string>
  /** Who came back at this address, checked against the visit. */
  identify(visit: Visit, callbackUrl: URL): Promise<Identified>
}

/** One exchange with a provider may take this long; a sign-in makes three at most. */
const TIMEOUT_SECONDS = 5
/** After this long the discovered settings are asked for again, while the old ones serve. */
const DISCOVERED_FOR_MS = 60 * 60_000
const ANSWER_BYTES_MAX = 1_048_576
const EMAIL_LENGTH_MAX = 254

/** A provider by its issuer. Nothing is asked of it until somebody signs in. */
export function identityProvider(
  settings: IdentityProviderConfig & { clientSecret: string | undefined },
  clock: Clock,
): IdentityProvider {
  const configuration = kept(() => discover(settings), clock)
  return {
    label: settings.label,
    async authorizationUrl({ redirectUri, state, nonce, codeVerifier }, loginHint) {
      const url = buildAuthorizationUrl(await described(configuration), {
        redirect_uri: redirectUri,
        scope: settings.scopes.join(' '),
        state,
        nonce,
        code_challenge: await calculatePKCECodeChallenge(codeVerifier),
        code_challenge_method: 'S256',
        ...(loginHint === undefined ? {} : { login_hint: loginHint }),
      })
      return url.href
    },
    identify: (visit, callbackUrl) =>
      described(async () => {
        const server = await configuration()
        const tokens = await authorizationCodeGrant(server, callbackUrl, {
          expectedState: visit.state,
          expectedNonce: visit.nonce,
          pkceCodeVerifier: visit.codeVerifier,
          idTokenExpected: true,
        })
        const claims = tokens.claims()
        assert(claims, 'an answer without an ID token was let through')
        const { iss: issuer, sub: subject } = claims
        const email = verifiedEmail(claims) ?? (await emailByUserInfo(server, tokens.access_token, subject))
        return { issuer, subject, email }
      }),
  }
}

function discover(settings: IdentityProviderConfig & { clientSecret: string | undefined }): Promise<Configuration> {
  const { issuer, clientId, clientSecret } = settings
  return discovery(new URL(issuer), clientId, clientSecret, authentication(clientSecret), {
    timeout: TIMEOUT_SECONDS,
    [customFetch]: boundedFetch,
    execute: [
      // the ID token's signature is checked too, although it comes over TLS from the provider itself
      enableNonRepudiationChecks,
      // the configuration lets http through on loopback in development only
      ...(issuer.startsWith('http:') ? [allowInsecureRequests] : []),
    ],
  })
}

/** The secret goes where the provider takes it: into the header, as is the standard's default, or into the body. */
function authentication(secret: string | undefined): ClientAuth {
  if (secret === undefined) return None()
  return (server, client, body, headers) => {
    const taken = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
    const method = taken.includes('client_secret_basic') ? ClientSecretBasic : ClientSecretPost
    return method(secret)(server, client, body, headers)
  }
}

/** Keeps what was discovered. Callers at once share one request; a failure is not kept. */
function kept<T>(load: () => Promise<T>, clock: Clock): () => Promise<T> {
  let known: { value: T; loadedMs: number } | undefined
  let loading: Promise<T> | undefined
  const reload = (): Promise<T> => {
    loading ??= load()
      .then((value) => {
        known = { value, loadedMs: clock.monotonicMs() }
        return value
      })
      .finally(() => {
        loading = undefined
      })
    return loading
  }
  return () => {
    if (!known) return reload()
    // a provider that is down just now still has the settings it had
    if (clock.monotonicMs() - known.loadedMs > DISCOVERED_FOR_MS) reload().catch(() => undefined)
    return Promise.resolve(known.value)
  }
}

/** No answer of a provider is read beyond a bound. */
const boundedFetch: CustomFetch = async (url, options) => {
  const response = await fetch(url, options as RequestInit)
  if (!response.body) return response
  let bytes = 0
  const counted = response.body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        bytes += chunk.byteLength
        if (bytes > ANSWER_BYTES_MAX) controller.error(new TypeError('the answer is too large'))
        else controller.enqueue(chunk)
      },
    }),
  )
  const { status, statusText, headers } = response
  return new Response(counted, { status, statusText, headers })
}

/** Some providers put the address nowhere but there. It is worth asking for, and not worth failing for. */
async function emailByUserInfo(
  server: Configuration,
  accessToken: string,
  subject: string,
): Promise<string | undefined> {
  if (server.serverMetadata().userinfo_endpoint === undefined) return undefined
  try {
    return verifiedEmail(await fetchUserInfo(server, accessToken, subject))
  } catch {
    return undefined
  }
}

function verifiedEmail(claims: Readonly<Record<string, unknown>>): string | undefined {
  const { email, email_verified: verified } = claims
  if (typeof email !== 'string' || (verified !== true && verified !== 'true')) return undefined
  return email.length <= EMAIL_LENGTH_MAX && /^[^\s@]+@[^\s@]+$/.test(email) ? email : undefined
}

/** Turns whatever a provider or its answer failed with into a NotIdentified. */
async function described<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw notIdentified(error)
  }
}

function notIdentified(error: unknown): NotIdentified {
  const {
    code,
    message,
    cause,
    error: answered,
  } = (error ?? {}) as Partial<Record<'code' | 'message' | 'cause' | 'error', unknown>>
  const status = cause instanceof Response ? cause.status : undefined
  const reason = cause instanceof Error ? (cause as { code?: unknown }).code : undefined
  // fetch rejects with a TypeError when there is no answer
  const away = code === 'OAUTH_TIMEOUT' || (status ?? 0) >= 500 || (error instanceof TypeError && code === undefined)
  const known = [code ?? message, status, reason, answered].filter((part) => part !== undefined && part !== '')
  const denied = error instanceof AuthorizationResponseError && error.error === 'access_denied'
  const refusal = denied ? 'sign_in_denied' : away ? 'provider_unavailable' : 'sign_in_failed'
  return new NotIdentified(refusal, [...new Set(known.map(word))].join(', '))
}

/** Other people's text in our log: a few plain characters. */
const word = (text: unknown): string =>
  String(text)
    .replace(/[^\w .:-]/g, '')
    .slice(0, 80)
