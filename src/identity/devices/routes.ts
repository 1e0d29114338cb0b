import { type Static, Type } from 'typebox'
import { clientAddress, clientNetwork } from '../../http/client-address.ts'
import { Closed, Empty, Integer, Time } from '../../http/fields.ts'
import { type Route, route } from '../../http/route.ts'
import { SignedIn, signedIn } from '../sign-in.ts'
import { shownUserCode } from './codes.ts'
import {
  beginDeviceLogin,
  type DeviceDeps,
  decideDeviceLogin,
  INTERVAL_SECONDS,
  LIFETIME_SECONDS,
  lookUpDeviceLogin,
  pollDeviceLogin,
} from './service.ts'
import type { DeviceLogin } from './store.ts'

const TAG = 'Owner sign-in'

const DeviceLoginView = Closed({
  user_code: Type.String({ description: 'Such as BCDF-GHJK: the program shows the same' }),
  client_name: Type.String({ description: 'What the program calls itself; anybody can call theirs so' }),
  network: Type.String({ description: 'Where it asked from: the address without its last part' }),
  status: Type.Enum(['pending', 'approved', 'denied', 'completed'], {
    description: 'completed: the program has its tokens',
  }),
  created_at: Time(),
  expires_at: Time(),
})

/** What the endpoints of device logins need from outside. */
export interface DeviceRoutesDeps extends DeviceDeps {
  /** The address of the console, without a trailing slash. */
  readonly consoleUrl: () => string
}

/** Endpoints by which owners log programs in without typing anything into them: RFC 8628 in our own shape. */
export function deviceRoutes(deps: DeviceRoutesDeps): Route[] {
  return [beginRoute(deps), tokenRoute(deps), lookRoute(deps), decideRoute(deps, 'approve'), decideRoute(deps, 'deny')]
}

function beginRoute(deps: DeviceRoutesDeps): Route {
  return route({
    method: 'POST',
    path: '/v1/auth/device',
    summary: "Begin a program's login as an owner: shows a code, which the owner approves in the console.",
    description: `Good for ${LIFETIME_SECONDS / 60} minutes, once. Show user_code and verification_uri; keep device_code to yourself.`,
    tag: TAG,
    access: 'public',
    limit: 'auth',
    extension: true,
    body: Closed({
      client_name: Type.Optional(
        Type.String({
          maxLength: 80,
          pattern: '^\\P{C}*$',
          description: 'What the owner is shown, such as "farebox on build-7"',
        }),
      ),
    }),
    replies: {
      200: Closed({
        device_code: Type.String({ description: 'A secret: for POST /v1/auth/device/token and nobody else' }),
        user_code: Type.String({ description: 'For a person to compare or type' }),
        verification_uri: Type.String({ description: 'Where the owner types the code' }),
        verification_uri_complete: Type.String({ description: 'The same with the code in it: for a link or QR code' }),
        expires_in: Integer('Seconds'),
        interval: Integer('Seconds to wait between two questions'),
        request_id: Type.String(),
      }),
    },
    refuses: [],
    handle: async ({ body, request, requestId, reply }) => {
      reply.header('cache-control', 'no-store')
      const asking = { clientName: body.client_name?.trim() ?? '', network: clientNetwork(request) }
      const { deviceCode, userCode } = await beginDeviceLogin(deps, asking)
      const address = `${deps.consoleUrl()}/device`
      return {
        device_code: deviceCode,
        user_code: userCode,
        verification_uri: address,
        verification_uri_complete: `${address}?user_code=${userCode}`,
        expires_in: LIFETIME_SECONDS,
        interval: INTERVAL_SECONDS,
        request_id: requestId,
      }
    },
  })
}

function tokenRoute(deps: DeviceRoutesDeps): Route {
  return route({
    method: 'POST',
    path: '/v1/auth/device/token',
    summary: "Ask whether a program's login was approved; answers with its tokens, once.",
    description:
      'Ask again after `interval` seconds while the answer is authorization_pending, after 5 more on slow_down, and as Retry-After says; every other refusal is for good.',
    tag: TAG,
    access: 'public',
    limit: 'auth',
    extension: true,
    body: Closed({ device_code: Type.String({ minLength: 1, maxLength: 128 }) }),
    replies: { 200: SignedIn },
    refuses: [
      'authorization_pending',
      'slow_down',
      'access_denied',
      'expired_token',
      'account_banned',
      'account_deactivated',
    ],
    handle: async ({ body, request, requestId, reply }) => {
      reply.header('cache-control', 'no-store')
      const asking = { deviceCode: body.device_code, userAgent: request.headers['user-agent'] }
      const device = await pollDeviceLogin(deps, asking)
      return signedIn(deps.db, { ...device, apiKey: undefined, requestId }, (token) => token)
    },
  })
}

const UserCode = Type.Object({
  user_code: Type.String({ maxLength: 32, description: 'In any case, with or without its dash' }),
})

function lookRoute(deps: DeviceRoutesDeps): Route {
  return route({
    method: 'GET',
    path: '/v1/auth/device/:user_code',
    summary: 'See which program asks to be logged in as this owner.',
    tag: TAG,
    access: 'session',
    extension: true,
    params: UserCode,
    replies: { 200: Closed({ data: DeviceLoginView }) },
    refuses: ['owner_account_required', 'device_login_not_found'],
    handle: async ({ caller, params, request, reply }) => {
      reply.header('cache-control', 'no-store')
      const who = { ownerId: caller.accountId, userCode: params.user_code, address: clientAddress(request) }
      return { data: view(await lookUpDeviceLogin(deps, who)) }
    },
  })
}

function decideRoute(deps: DeviceRoutesDeps, event: 'approve' | 'deny'): Route {
  return route({
    method: 'POST',
    path: `/v1/auth/device/:user_code/${event}`,
    summary:
      event === 'approve'
        ? 'Let the program that shows this code act as this owner, in a session of its own.'
        : 'Refuse the program that shows this code. An approval can be taken back so until the program has its tokens.',
    tag: TAG,
    access: 'session',
    extension: true,
    params: UserCode,
    body: Empty,
    replies: { 200: Closed({ data: DeviceLoginView }) },
    refuses: ['owner_account_required', 'device_login_not_found', 'device_login_decided'],
    handle: async ({ caller, params, request, requestId }) => {
      const who = { ownerId: caller.accountId, userCode: params.user_code, address: clientAddress(request) }
      return { data: view(await decideDeviceLogin(deps, { ...who, event, requestId })) }
    },
  })
}

function view(login: DeviceLogin): Static<typeof DeviceLoginView> {
  return {
    user_code: shownUserCode(login.user_code),
    client_name: login.client_name,
    network: login.network,
    status: login.status,
    created_at: login.created_at.toISOString(),
    expires_at: login.expires_at.toISOString(),
  }
}
