import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import { Closed } from '../../http/fields.ts'
import { type Route, route } from '../../http/route.ts'
import { keepRefreshToken } from '../../http/session-cookie.ts'
import { Fault } from '../../kernel/errors.ts'
import { SignedIn, signedIn } from '../sign-in.ts'
import { cookieCleared, cookiesFor, holdsCookie, ownPath } from './browser.ts'
import { NotIdentified } from './identity-provider.ts'
import {
  beginSignIn,
  exchangeCode,
  finishSignIn,
  LOGIN_SECONDS,
  type OwnerSignInDeps,
  register,
  type SignInOutcome,
} from './service.ts'

/** What the endpoints of owner sign-in need. */
export interface OwnerRoutesDeps extends OwnerSignInDeps {
  /** Where the console is, without a trailing slash. */
  readonly consoleUrl: () => string
  /** An e-mail or https address for people; may be empty. */
  readonly supportContact: string
}

const TAG = 'Sign-in'
const ProviderName = Closed({ provider: Type.String({ maxLength: 64 }) })
const Secret = (description: string) => Type.String({ minLength: 1, maxLength: 200, description })
const toTheConsole = (description: string) => ({ 302: { description, contentType: 'text/plain' } })

/** Endpoints of owner sign-in by OpenID Connect (decisions 2). No token is ever in an address. */
export function ownerSignInRoutes(deps: OwnerRoutesDeps): Route[] {
  return [providersRoute(deps), startRoute(deps), callbackRoute(deps), exchangeRoute(deps), registerRoute(deps)]
}

function providersRoute({ providers, requireInvitation, supportContact }: OwnerRoutesDeps): Route {
  return route({
    method: 'GET',
    path: '/v1/auth/oidc/providers',
    summary: 'The identity providers that owners can sign in by.',
    tag: TAG,
    access: 'public',
    extension: true,
    replies: {
      200: Closed({
        data: Type.Array(
          Closed({
            name: Type.String({ description: 'Its name in /v1/auth/oidc/{provider}/start' }),
            label: Type.String({ description: 'What people read' }),
          }),
        ),
        invitation_required: Type.Boolean({
          description: 'Whether a new owner needs an invitation code',
        }),
        support_contact: Type.String({
          description: 'Where people turn for help: an e-mail or https address, or empty',
        }),
      }),
    },
    refuses: [],
    handle: () => ({
      data: Object.entries(providers).map(([name, { label }]) => ({ name, label })),
      invitation_required: requireInvitation,
      support_contact: supportContact,
    }),
  })
}

function startRoute(deps: OwnerRoutesDeps): Route {
  return route({
    method: 'GET',
    path: '/v1/auth/oidc/:provider/start',
    summary: "Send an owner's browser to an identity provider.",
    description: `The visit is bound to the browser by a cookie and lasts ${LOGIN_SECONDS / 60} minutes.`,
    tag: TAG,
    access: 'public',
    limit: 'auth',
    extension: true,
    params: ProviderName,
    query: Type.Object({
      invite: Type.Optional(
        Type.String({
          maxLength: 128,
          description: 'An invitation code; only a first registration looks at it',
        }),
      ),
      return_to: Type.Optional(
        Type.String({
          maxLength: 512,
          description: 'A path of this server, given back to the console',
        }),
      ),
      login_hint: Type.Optional(
        Type.String({ maxLength: 254, description: 'Who it should be, passed on to the provider' }),
      ),
    }),
    replies: toTheConsole('To the provider, or to the console with an error'),
    refuses: ['identity_provider_not_found'],
    handle: async ({ params, query, request, reply }) => {
      const publicUrl = deps.publicUrl()
      const returnTo = query.return_to ? ownPath(query.return_to, publicUrl) : ''
      if (returnTo === undefined)
        throw new Fault('invalid_parameter', {
          message: 'The parameter return_to must be a path of this server, such as /console.',
        })
      const wanted = {
        provider: params.provider,
        invitationCode: query.invite,
        returnTo,
        loginHint: query.login_hint,
      }
      try {
        const { url, stateHash } = await beginSignIn(deps, wanted)
        const scope = { publicUrl, lifetimeSeconds: LOGIN_SECONDS }
        reply.header('set-cookie', cookiesFor(request.headers.cookie, stateHash, scope))
        return redirect(reply, url)
      } catch (error) {
        if (!(error instanceof NotIdentified)) throw error
        deps.onTrouble(`a sign-in by ${params.provider} could not begin: ${error.refusal}`, error)
        return redirect(reply, consoleAddress(deps, { error: error.refusal, registrationId: undefined, returnTo }))
      }
    },
  })
}

function callbackRoute(deps: OwnerRoutesDeps): Route {
  return route({
    method: 'GET',
    path: '/v1/auth/oidc/:provider/callback',
    summary: 'Where the identity provider sends the browser back to.',
    description:
      'Goes on to the console with a code for POST /v1/auth/oidc/exchange, or with an error and, when only the invitation was wrong, a registration_id for POST /v1/auth/oidc/register.',
    tag: TAG,
    access: 'public',
    limit: 'auth',
    extension: true,
    params: ProviderName,
    replies: toTheConsole('To the console'),
    refuses: ['identity_provider_not_found'],
    handle: async ({ params, request, reply }) => {
      const scope = { publicUrl: deps.publicUrl(), lifetimeSeconds: LOGIN_SECONDS }
      const outcome = await finishSignIn(deps, {
        provider: params.provider,
        query: request.url.split('?')[1] ?? '',
        isBound(stateHash) {
          if (!holdsCookie(request.headers.cookie, stateHash)) return false
          reply.header('set-cookie', cookieCleared(stateHash, scope))
          return true
        },
      })
      return redirect(reply, consoleAddress(deps, outcome))
    },
  })
}

function exchangeRoute(deps: OwnerRoutesDeps): Route {
  return route({
    method: 'POST',
    path: '/v1/auth/oidc/exchange',
    summary: 'Exchange the code of a finished owner sign-in, once, for tokens.',
    tag: TAG,
    access: 'public',
    limit: 'auth',
    extension: true,
    body: Closed({ code: Secret('From the address of the console; good for 60 seconds') }),
    replies: { 200: SignedIn },
    refuses: ['invalid_sign_in_code', 'account_banned', 'account_deactivated'],
    handle: async ({ body, request, requestId, reply }) => {
      reply.header('cache-control', 'no-store')
      const owner = await exchangeCode(deps, {
        code: body.code,
        device: request.headers['user-agent'],
      })
      return signedIn(deps.db, { ...owner, apiKey: undefined, requestId }, (token) =>
        keepRefreshToken({ request, reply, publicUrl: deps.publicUrl() }, token),
      )
    },
  })
}

function registerRoute(deps: OwnerRoutesDeps): Route {
  return route({
    method: 'POST',
    path: '/v1/auth/oidc/register',
    summary: 'Finish a first registration whose invitation code was no good: with another code, or without one.',
    description: 'Good for 15 minutes. A wrong code leaves it open, ten times at most.',
    tag: TAG,
    access: 'public',
    limit: 'auth',
    extension: true,
    body: Closed({
      registration_id: Secret('From the address of the console'),
      invitation_code: Type.Optional(Type.String({ maxLength: 128, description: 'Left out or empty: without one' })),
    }),
    replies: { 200: SignedIn },
    refuses: [
      'invalid_registration',
      'invitation_invalid',
      'invitation_required',
      'account_banned',
      'account_deactivated',
    ],
    handle: async ({ body, request, requestId, reply }) => {
      reply.header('cache-control', 'no-store')
      const owner = await register(deps, {
        registrationId: body.registration_id,
        invitationCode: body.invitation_code,
        device: request.headers['user-agent'],
      })
      return signedIn(deps.db, { ...owner, apiKey: undefined, requestId }, (token) =>
        keepRefreshToken({ request, reply, publicUrl: deps.publicUrl() }, token),
      )
    },
  })
}

/** `{console}/auth` with what the page needs to know. */
function consoleAddress(deps: OwnerRoutesDeps, outcome: SignInOutcome): string {
  const said =
    'code' in outcome ? { code: outcome.code } : { error: outcome.error, registration_id: outcome.registrationId }
  const present = Object.entries({ ...said, return_to: outcome.returnTo }).filter(([, value]) => value)
  return `${deps.consoleUrl()}/auth?${new URLSearchParams(present as Array<[string, string]>)}`
}

/** The address has a code in it: no cache keeps it, and the next page is not told of it. */
function redirect(reply: FastifyReply, url: string): FastifyReply {
  return reply.header('cache-control', 'no-store').header('referrer-policy', 'no-referrer').redirect(url, 302)
}
