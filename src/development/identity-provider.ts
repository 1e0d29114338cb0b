import { generateKeyPairSync } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Context, Provider } from 'oidc-provider'
import type { Random } from '../kernel/random.ts'

/** Somebody who can sign in at the development provider. */
export interface Person {
  /** Their `sub`, for ever. */
  readonly subject: string
  readonly email: string
}

/** A running OpenID Connect provider. */
export interface DevelopmentIdentityProvider {
  readonly issuer: string
  readonly clientId: string
  /** Of this run. */
  readonly clientSecret: string
  stop(): Promise<void>
}

/** What a provider is started with. */
export interface DevelopmentIdentityProviderOptions {
  readonly random: Random
  readonly people: readonly Person[]
  /** Tried first; any free port when it is taken. 0 is any free port. */
  readonly port: number
  /** Whether the browser may be sent back to this address with a code. */
  readonly isCallback: (uri: string) => boolean
}

const CLIENT_ID = 'farebox'
const HOST = '127.0.0.1'
const MINUTE_SECONDS = 60
const HOUR_SECONDS = 60 * MINUTE_SECONDS

/**
 * Starts a real OpenID Connect provider in this process, on loopback, for development and tests: one click chooses
 * who signs in, and a `login_hint` with a known e-mail address needs not even that. Any other address of example.com
 * is somebody too, who is there to be hinted at. It keeps nothing: its keys and codes are of this run, its subjects
 * of all runs.
 */
export async function startIdentityProvider(
  options: DevelopmentIdentityProviderOptions,
): Promise<DevelopmentIdentityProvider> {
  const server = createServer({ requestTimeout: 10_000 })
  const issuer = `http://${HOST}:${await listen(server, options.port)}`
  const clientSecret = options.random.bytes(32).toString('base64url')
  const provider = await createProvider(issuer, clientSecret, options)
  const serveOpenId = provider.callback()
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const [, uid, choice] = /^\/choose\/([\w-]+)(?:\/(\w+))?$/.exec(request.url ?? '') ?? []
    if (uid === undefined) serveOpenId(request, response)
    else
      choose(provider, options.people, { request, response, uid, choice }).catch(() =>
        response.writeHead(400).end('This sign-in is over. Go back and begin again.'),
      )
  })
  return {
    issuer,
    clientId: CLIENT_ID,
    clientSecret,
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function listen(server: Server, port: number): Promise<number> {
  const attempt = (wanted: number) =>
    new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(wanted, HOST, () => {
        server.off('error', reject)
        resolve()
      })
    })
  await attempt(port).catch((error: unknown) => {
    if ((error as { code?: unknown }).code !== 'EADDRINUSE') throw error
    return attempt(0)
  })
  return (server.address() as AddressInfo).port
}

async function createProvider(
  issuer: string,
  clientSecret: string,
  options: DevelopmentIdentityProviderOptions,
): Promise<Provider> {
  const { interactionPolicy, Provider } = await quietly(() => import('oidc-provider'))
  const hinted = (hint: unknown): Person | undefined =>
    options.people.find(({ email }) => email === hint) ?? anybody(hint)
  // without a hint the question is asked each time: nobody is signed in by who was here before
  const chosen = new interactionPolicy.Check(
    'nobody_chosen',
    'who signs in is not chosen yet',
    'login_required',
    ({ oidc }) => !hinted(oidc.params.login_hint) && oidc.result?.login === undefined,
  )
  const login = new interactionPolicy.Prompt({ name: 'login', requestable: false }, chosen)
  const provider = await quietly(
    () =>
      new Provider(issuer, {
        ...settings(clientSecret, options),
        interactions: {
          policy: [login],
          url: (_context: unknown, { uid }: { uid: string }) => `/choose/${uid}`,
        },
        extraParams: {
          // validated before the account is looked up, which makes it the place to choose one
          login_hint({ oidc }: Context, hint: unknown) {
            const person = hinted(hint)
            if (person) oidc.session.loginAccount({ accountId: person.subject })
          },
        },
      }),
  )
  provider.Client.prototype.redirectUriAllowed = options.isCallback
  return provider
}

/** As many people as scripts and tests want: their address is their subject. */
function anybody(address: unknown): Person | undefined {
  return typeof address === 'string' && /^[a-z0-9][a-z0-9.-]{0,63}@example\.com$/.test(address)
    ? { subject: address, email: address }
    : undefined
}

/** What does not depend on how people are chosen. */
function settings(clientSecret: string, { random, people }: DevelopmentIdentityProviderOptions) {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const key = privateKey.export({ format: 'jwk' })
  return {
    clients: [
      {
        client_id: CLIENT_ID,
        client_secret: clientSecret,
        // the real check is isCallback: the port of the server may be any
        redirect_uris: [`http://${HOST}/v1/auth/oidc/dev/callback`],
        id_token_signed_response_alg: 'ES256',
        token_endpoint_auth_method: 'client_secret_basic',
      },
    ],
    jwks: { keys: [{ ...key, kid: 'development', alg: 'ES256', use: 'sig' }] },
    enabledJWA: { idTokenSigningAlgValues: ['ES256'] },
    cookies: {
      keys: [random.bytes(32).toString('base64url')],
      // a browser sends the cookies of all ports of a host: these are not mistaken for anybody else's
      names: {
        session: 'dev_identity_session',
        interaction: 'dev_identity_choice',
        resume: 'dev_identity_resume',
      },
    },
    claims: { openid: ['sub'], email: ['email', 'email_verified'] },
    // the e-mail address is in the ID token, as most providers have it
    conformIdTokenClaims: false,
    features: { devInteractions: { enabled: false } },
    pkce: { required: () => true },
    ttl: {
      AccessToken: HOUR_SECONDS,
      AuthorizationCode: MINUTE_SECONDS,
      Grant: HOUR_SECONDS,
      IdToken: HOUR_SECONDS,
      Interaction: HOUR_SECONDS,
      Session: HOUR_SECONDS,
    },
    findAccount: (_context: unknown, subject: string) => accountOf(people, subject),
    loadExistingGrant: consent,
    renderError(
      context: { type: string; body: string },
      { error, error_description: description }: Record<string, string>,
    ) {
      context.type = 'text/plain'
      context.body = `${error}: ${description ?? ''}`
    },
  }
}

/** Nobody is asked whether they agree: the grant is there. */
async function consent({ oidc }: Context): Promise<unknown> {
  const { accountId } = oidc.session
  if (accountId === undefined) return undefined
  // the grant of another tab stays in force: a new one would void the code that is under way there
  const earlier = oidc.session.grantIdFor(oidc.client.clientId)
  const known = earlier === undefined ? undefined : await oidc.provider.Grant.find(earlier)
  if (known?.accountId === accountId) return known
  const grant = new oidc.provider.Grant({ accountId, clientId: oidc.client.clientId })
  grant.addOIDCScope('openid email')
  await grant.save()
  return grant
}

function accountOf(people: readonly Person[], subject: string): unknown {
  const person = people.find((candidate) => candidate.subject === subject) ?? anybody(subject)
  const claims = { sub: subject, email: person?.email, email_verified: true }
  return person && { accountId: subject, claims: () => claims }
}

/** The page where one click chooses who signs in, and what the click does. */
async function choose(
  provider: Provider,
  people: readonly Person[],
  {
    request,
    response,
    uid,
    choice,
  }: {
    request: IncomingMessage
    response: ServerResponse
    uid: string
    choice: string | undefined
  },
): Promise<void> {
  // rejects when this browser has no such sign-in open
  await provider.interactionDetails(request, response)
  if (request.method !== 'POST' || choice === undefined) {
    response.writeHead(200, {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
    })
    response.end(page(people, uid))
    return
  }
  const person = people[Number(choice)]
  const result = person
    ? { login: { accountId: person.subject } }
    : { error: 'access_denied', error_description: 'nobody was chosen' }
  await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false })
}

function page(people: readonly Person[], uid: string): string {
  const button = (choice: string, label: string) =>
    `<form method="post" action="/choose/${uid}/${choice}"><button>${label}</button></form>`
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Development sign-in</title>
<style>body{font:1rem/1.5 system-ui;max-width:22rem;margin:15vh auto;padding:0 1rem}button{font:inherit;width:100%;padding:.6rem;margin:.3rem 0}</style>
<h1>Who are you?</h1>
<p>This is the identity provider of the development economy. There are no passwords.</p>
${people.map(({ email }, index) => button(String(index), email)).join('\n')}
${button('nobody', 'Nobody: cancel')}
</html>
`
}

/** The package warns of what is no concern here: an odd Node version, and that it keeps everything in memory. */
async function quietly<T>(work: () => T | Promise<T>): Promise<T> {
  const { warn } = console
  console.warn = () => undefined
  try {
    return await work()
  } finally {
    console.warn = warn
  }
}
