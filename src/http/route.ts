import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Static, TSchema } from 'typebox'
import type { Caller } from '../kernel/caller.ts'
import type { ErrorCode } from '../kernel/errors.ts'

/** HTTP methods that routes may take. */
export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/**
 * Who may call:
 * `public`    anyone;
 * `any`       an API key or an access token, checked now;
 * `session`   an access token only: keys are refused with `access_token_required`;
 * `admin`     an access token of an account with the role `admin`: others are refused with `admin_required`;
 * `spending`  an API key or an access token whose right to spend is checked where the money is held.
 */
export type Access = 'public' | 'any' | 'session' | 'admin' | 'spending'

/** What a handler gets. Everything is parsed; `caller` is there unless the route is public. */
export interface Call<P, Q, B> {
  readonly caller: Caller
  readonly params: P
  readonly query: Q
  readonly body: B
  readonly requestId: string
  /**
   * Checks the credential against the database now. For a `spending` route that answers without holding money:
   * there nothing else would notice that the credential is dead. Refuses as Authenticator.authenticate does.
   */
  confirmCredential(): Promise<void>
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

type StaticOr<T, Otherwise> = T extends TSchema ? Static<T> : Otherwise

/** An endpoint as a value: the server, the OpenAPI document, the docs and the SDK are made from it. */
export interface Route {
  readonly method: Method
  /** With `:name` parameters, as in `/v1/calls/:id`. */
  readonly path: string
  readonly summary: string
  readonly description?: string
  readonly tag: string
  readonly access: Access
  /**
   * Which rate limit by client address counts it. Absent: `public` for public routes, none for the others, which
   * are counted by credential. `unlimited` is for machines that watch the server.
   */
  readonly limit?: 'auth' | 'topup' | 'unlimited'
  /** True for endpoints that the spec does not have (decisions: marked +). */
  readonly extension?: boolean
  /** True where pages of any origin may call: OPTIONS is answered then, and the headers of payments can be read. */
  readonly cors?: boolean
  /** What a 401 says besides the realm, such as where a client finds out how to authenticate. */
  readonly challenge?: () => string
  /** Request headers that mean something here, each with what it is for. Shown in the OpenAPI document. */
  readonly requestHeaders?: Readonly<Record<string, string>>
  /** Further members of the operation in the OpenAPI document. */
  readonly openApi?: Readonly<Record<string, unknown>>
  readonly params?: TSchema
  readonly query?: TSchema
  /** The body; unknown members are refused. Absent: the endpoint takes none, and a body is refused unless empty. */
  readonly body?: TSchema
  /** A body that a development server answers well: what the page of the API begins with. */
  readonly example?: Readonly<Record<string, unknown>>
  readonly bodyLimit?: number
  /** Takes multipart/form-data too: makes the JSON body of it, which `body` then checks. Absent: refused. */
  readonly fromForm?: (form: FormData) => Promise<unknown>
  /** Keeps the text of the body for the handler, whose signature is over it, as `request.bodyText`. */
  readonly keepsText?: true
  /** The reply by status; a declared reply is a whitelist of fields. */
  readonly replies: Readonly<Record<number, TSchema | { readonly description: string; readonly contentType: string }>>
  /** Refusals of this endpoint besides those that its access and body imply. A test holds handlers to it. */
  readonly refuses: readonly ErrorCode[]
  readonly handle: (call: Call<unknown, unknown, unknown>) => unknown
}

/** Declares an endpoint with the types of its parts inferred. */
export function route<P extends TSchema | undefined, Q extends TSchema | undefined, B extends TSchema | undefined>(
  declaration: Omit<Route, 'params' | 'query' | 'body' | 'handle'> & {
    readonly params?: P
    readonly query?: Q
    readonly body?: B
    readonly handle: (
      call: Call<
        StaticOr<P, Record<string, never>>,
        StaticOr<Q, Record<string, never>>,
        StaticOr<B, Record<string, never>>
      >,
    ) => unknown
  },
): Route {
  return declaration as unknown as Route
}

/** Refusals that every route of this shape can answer with, declared once here instead of in each route. */
export function impliedRefusals(declared: Route): ErrorCode[] {
  const codes = new Set<ErrorCode>(['internal_error', 'unavailable', 'rate_limited'])
  if (declared.access !== 'public')
    for (const code of ['unauthorized', 'account_banned', 'account_deactivated'] as const) codes.add(code)
  if (declared.access === 'session' || declared.access === 'admin') codes.add('access_token_required')
  if (declared.access === 'admin') codes.add('admin_required')
  if (declared.params || declared.query) codes.add('invalid_parameter')
  if (declared.params) codes.add('uri_too_long')
  if (declared.method !== 'GET') {
    for (const code of [
      'invalid_json',
      'invalid_body',
      'invalid_field',
      'missing_field',
      'unknown_field',
      'body_too_large',
      'unsupported_media_type',
    ] as const)
      codes.add(code)
  }
  return [...codes]
}
