import { METHODS } from 'node:http'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Authenticator, Caller } from '../kernel/caller.ts'
import { Fault } from '../kernel/errors.ts'
import type { Random } from '../kernel/random.ts'
import { requestId } from '../kernel/random.ts'
import { faultFrom, refuseUnparsed, sendFault } from './faults.ts'
import { type Access, impliedRefusals, type Method, type Route } from './route.ts'
import { serializerFor, validatorFor } from './validation.ts'

/** What the HTTP floor tells others about each answer: for the log and the metrics, never with bodies or headers. */
export interface Answered {
  readonly requestId: string
  readonly method: string
  /** The route's pattern, or `unmatched`: never the raw address. */
  readonly route: string
  readonly status: number
  readonly code: string | undefined
  readonly durationMs: number
  readonly accountId: bigint | undefined
}

/** What a server is made of. */
export interface ServerOptions {
  readonly routes: readonly Route[]
  readonly authenticator: Authenticator
  readonly random: Random
  readonly bodyLimit: number
  readonly trustedProxies: readonly string[]
  readonly onAnswered: (answered: Answered) => void
  /** The private cause of a 5xx, with the request id that the caller was given. */
  readonly onFault: (requestId: string, error: unknown) => void
  /** Runs before the handler of every matched route: rate limits. Throws a Fault to refuse. */
  readonly admit?: (
    request: FastifyRequest,
    route: Route,
    caller: Caller | undefined,
    reply: FastifyReply,
  ) => void | Promise<void>
  /** Sees every refusal of a matched route before it is answered, and gives the one to answer: failed credentials count too. */
  readonly refused?: (
    request: FastifyRequest,
    route: Route,
    fault: Fault,
    reply: FastifyReply,
  ) => Fault | Promise<Fault>
  /** True while the server is going down: new requests on kept connections are refused. */
  readonly closing?: () => boolean
}

declare module 'fastify' {
  interface FastifyRequest {
    startedMs: number
    route_: Route | undefined
    caller_: Caller | undefined
    faultCode: string | undefined
    /** Of routes that keep it. */
    bodyText: string | undefined
  }
}

/** As much of a path as an error repeats. */
const PATH_SHOWN_MAX = 200

/** The only file that knows the framework. Gives a server that is not listening yet; tests use `inject`. */
export function createServer(options: ServerOptions): FastifyInstance {
  const app = fastify({
    logger: false,
    // refused below instead: Node's own refusal has no body
    http: { requireHostHeader: false },
    genReqId: () => requestId(options.random),
    requestIdHeader: false,
    bodyLimit: options.bodyLimit,
    trustProxy: options.trustedProxies.length > 0 ? [...options.trustedProxies] : false,
    exposeHeadRoutes: false,
    routerOptions: { ignoreTrailingSlash: false, maxParamLength: 200 },
    forceCloseConnections: 'idle',
    keepAliveTimeout: 72_000,
    connectionTimeout: 0,
    requestTimeout: 60_000,
    return503OnClosing: false,
    clientErrorHandler: refuseUnparsed(options.random),
    frameworkErrors: (error, request, reply) =>
      void refuse(request as FastifyRequest, reply as FastifyReply, error, options),
  })
  app.decorateRequest('startedMs', 0)
  app.decorateRequest('route_', undefined)
  app.decorateRequest('caller_', undefined)
  app.decorateRequest('faultCode', undefined)
  app.decorateRequest('bodyText', undefined)

  parseBodies(app)
  // an expectation that nobody knows is left unmet instead of being refused without a body
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  app.addHook('onRequest', (request, reply, done) => {
    request.startedMs = performance.now()
    reply.header('x-request-id', request.id)
    // whoever watches the server may go on asking: /readyz says that it is going down
    if (options.closing?.() && request.url.startsWith('/v1/')) {
      reply.header('connection', 'close')
      done(new Fault('shutting_down', { retryAfterMs: 1000 }))
    } else if (request.headers.host === undefined && request.raw.httpVersion !== '1.0') {
      done(new Fault('invalid_body', { message: 'The request is not valid HTTP: it has no Host header.' }))
    } else if (request.is404) {
      // here and not in the handler, which would read the body first and complain of that
      done(
        new Fault('not_found', {
          message: `There is nothing at ${request.method} ${request.url.split('?')[0]?.slice(0, PATH_SHOWN_MAX)}. See /openapi.json for every path.`,
        }),
      )
    } else done()
  })
  app.addHook('onResponse', (request, reply, done) => {
    options.onAnswered({
      requestId: request.id,
      method: request.method,
      route: request.route_?.path ?? 'unmatched',
      status: reply.statusCode,
      code: request.faultCode,
      durationMs: performance.now() - request.startedMs,
      accountId: request.caller_?.accountId,
    })
    done()
  })
  app.setErrorHandler((error, request, reply) => refuse(request, reply, error, options))
  app.setNotFoundHandler((request, reply) => refuse(request, reply, new Fault('not_found'), options))
  app.setValidatorCompiler(({ schema, httpPart }) => validatorFor(schema, httpPart))
  app.setSerializerCompiler(({ schema }) => serializerFor(schema))
  for (const declared of options.routes) addRoute(app, declared, options)
  refuseOtherMethods(app, options)
  return app
}

function addRoute(app: FastifyInstance, declared: Route, options: ServerOptions): void {
  const replies = Object.fromEntries(Object.entries(declared.replies).filter(([, reply]) => !('contentType' in reply)))
  app.route({
    method: declared.method,
    url: declared.path,
    ...(declared.bodyLimit ? { bodyLimit: declared.bodyLimit } : {}),
    schema: {
      ...(declared.params ? { params: declared.params } : {}),
      ...(declared.query ? { querystring: declared.query } : {}),
      ...(declared.body && declared.method !== 'GET' ? { body: declared.body } : {}),
      ...(Object.keys(replies).length > 0 ? { response: replies } : {}),
    },
    // before the body is read: a stranger's body is not worth parsing
    onRequest: async (request, reply) => {
      request.route_ = declared
      if (declared.cors) reply.headers(anyOrigin)
      request.caller_ = await callerOf(request, declared.access, options.authenticator)
      await options.admit?.(request, declared, request.caller_, reply)
      refuseByAccess(declared.access, request.caller_)
    },
    handler: async (request, reply) =>
      declared.handle({
        caller: request.caller_ as Caller,
        params: request.params,
        query: request.query,
        body: request.body ?? {},
        requestId: request.id,
        confirmCredential: async () => void (await options.authenticator.authenticate(tokenOf(request) ?? '')),
        request,
        reply,
      }),
  })
}

/** What the kind of credential, or the role behind it, may not do. */
function refuseByAccess(access: Access, caller: Caller | undefined): void {
  const isAdmins = access === 'admin'
  if ((access === 'session' || isAdmins) && caller?.credential.kind !== 'session')
    throw new Fault('access_token_required')
  if (isAdmins && caller?.admin !== true) throw new Fault('admin_required')
}

const tokenOf = (request: FastifyRequest): string | undefined =>
  /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1]

async function callerOf(
  request: FastifyRequest,
  access: Access,
  authenticator: Authenticator,
): Promise<Caller | undefined> {
  if (access === 'public') return undefined
  const token = tokenOf(request)
  if (token === undefined) throw new Fault('unauthorized')
  if (access === 'spending') return authenticator.recognise(token)
  return authenticator.authenticate(token)
}

/** What lets a page of any origin read an answer, with the headers of payments among it. No cookie is ever looked at. */
const anyOrigin = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers':
    'PAYMENT-REQUIRED, PAYMENT-RESPONSE, X-PAYMENT-RESPONSE, Location, Retry-After, X-Request-Id, Idempotent-Replayed',
} as const
/** What such a page may send. Payment clients put Access-Control-Expose-Headers into their requests. */
const preflight = {
  'access-control-allow-methods': 'GET',
  'access-control-allow-headers':
    'PAYMENT-SIGNATURE, X-PAYMENT, PAYMENT-CONTEXT, SIGN-IN-WITH-X, Authorization, Content-Type, Access-Control-Expose-Headers',
  'access-control-max-age': '600',
} as const

/** 405 with Allow on every path, for every method that the path does not take. */
function refuseOtherMethods(app: FastifyInstance, options: ServerOptions): void {
  const methods = new Map<string, Method[]>()
  for (const { path, method } of options.routes) methods.set(path, [...(methods.get(path) ?? []), method])
  // CONNECT asks for a tunnel and never gets as far as a path
  const all = METHODS.filter((method) => method !== 'CONNECT')
  for (const method of all) if (!app.supportedMethods.includes(method)) app.addHttpMethod(method, { hasBody: true })
  for (const [path, taken] of methods) {
    const allow = taken.join(', ')
    app.route({
      method: all.filter((method) => !(taken as readonly string[]).includes(method)),
      url: path,
      onRequest: async (request, reply) => {
        const open = options.routes.find((route) => route.path === path && route.cors)
        if (open && request.method === 'OPTIONS')
          return reply
            .code(204)
            .headers({ ...anyOrigin, ...preflight, allow: `${allow}, OPTIONS` })
            .send()
        throw new Fault('method_not_allowed', { message: `${path} takes ${allow} only.`, headers: { allow } })
      },
      handler: () => undefined,
    })
  }
}

/** JSON by our rules: an empty body is no body, whatever the content type says. Forms where a route takes them. */
function parseBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  const parser = app.getDefaultJsonParser('error', 'error')
  app.addContentTypeParser(['application/json', 'text/json'], { parseAs: 'string' }, (request, text, done) => {
    if (text.length === 0) return done(null, undefined)
    if (request.route_?.keepsText) request.bodyText = text as string
    void parser(request, text as string, done)
  })
  app.addContentTypeParser(
    'multipart/form-data',
    { parseAs: 'buffer' },
    async (request: FastifyRequest, bytes: Buffer) => {
      if (bytes.length === 0) return undefined
      const fromForm = request.route_?.fromForm
      if (!fromForm) throw new Fault('unsupported_media_type')
      return fromForm(await readForm(request.headers['content-type'] ?? '', bytes))
    },
  )
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, text, done) => {
    if (text.length === 0) return done(null, undefined)
    done(new Fault('unsupported_media_type'))
  })
}

async function readForm(contentType: string, bytes: Buffer): Promise<FormData> {
  try {
    return await new Response(new Uint8Array(bytes), { headers: { 'content-type': contentType } }).formData()
  } catch (cause) {
    throw new Fault('invalid_body', { message: 'The body is no multipart form.', cause })
  }
}

/** Turns whatever was thrown into the documented body. */
async function refuse(
  request: FastifyRequest,
  reply: FastifyReply,
  error: unknown,
  options: ServerOptions,
): Promise<FastifyReply> {
  let fault = faultFrom(error)
  const declared = request.route_
  // a remembered credential may be dead by now: then that is the answer, whatever else was wrong
  if (
    declared?.access === 'spending' &&
    request.caller_ &&
    fault.refusal.status < 500 &&
    fault.refusal.type !== 'authentication_error'
  ) {
    try {
      await options.authenticator.authenticate(tokenOf(request) ?? '')
    } catch (dead) {
      fault = faultFrom(dead)
    }
  }
  if (declared && options.refused) fault = await options.refused(request, declared, fault, reply)
  if (declared && !declared.refuses.includes(fault.code) && !impliedRefusals(declared).includes(fault.code)) {
    options.onFault(
      request.id,
      new Error(`${declared.method} ${declared.path} does not declare ${fault.code}`, { cause: error }),
    )
  } else if (fault.refusal.status >= 500) {
    options.onFault(request.id, fault.cause ?? fault)
  }
  request.faultCode = fault.code
  return sendFault(request, reply, fault)
}
