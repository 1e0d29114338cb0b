import { accountAdministrationRoutes } from '../administration/accounts/routes.ts'
import { auditLogRoutes } from '../administration/audit-log/routes.ts'
import { grantRoutes } from '../administration/grants/routes.ts'
import { invitationAdministrationRoutes } from '../administration/invitations/routes.ts'
import { refundAdministrationRoutes } from '../administration/refunds/routes.ts'
import type { PaymentHint } from '../billing/calls/lifecycle.ts'
import { callRoutes } from '../billing/calls/routes.ts'
import { creditRoutes } from '../billing/credits/routes.ts'
import { refundRoutes } from '../billing/refunds/routes.ts'
import { settlementRoutes } from '../billing/settlements/routes.ts'
import { usageRoutes } from '../billing/usage/routes.ts'
import { capabilityRoutes } from '../capabilities/routes.ts'
import { operationTools } from '../capabilities/tools.ts'
import { consoleRoutes } from '../console/routes.ts'
import { docsRoutes } from '../docs/routes.ts'
import type { Route } from '../http/route.ts'
import { accountRoutes } from '../identity/accounts/routes.ts'
import { agentSignInRoutes } from '../identity/agent-sign-in/routes.ts'
import { deviceRoutes } from '../identity/devices/routes.ts'
import { invitationHash } from '../identity/invitations/code.ts'
import { consumeInvitation } from '../identity/invitations/service.ts'
import { keyRoutes } from '../identity/keys/routes.ts'
import { firstKeyMaker } from '../identity/keys/service.ts'
import { linkRoutes } from '../identity/links/routes.ts'
import { identityProvider } from '../identity/owners/identity-provider.ts'
import { type OwnerRoutesDeps, ownerSignInRoutes } from '../identity/owners/routes.ts'
import { sessionRoutes } from '../identity/sessions/routes.ts'
import { sessionOpener } from '../identity/sessions/service.ts'
import { walletRoutes } from '../identity/wallets/routes.ts'
import { chatRoutes } from '../inference/chat/routes.ts'
import { modelsRoutes } from '../inference/models/routes.ts'
import { type McpDeps, mcpRoutes } from '../mcp/routes.ts'
import { axonRoutes } from '../payments/axon/routes.ts'
import { contextRoutes } from '../payments/context/routes.ts'
import { contextTokens } from '../payments/context/tokens.ts'
import { paymentObject } from '../payments/options/payment-object.ts'
import { optionRoutes } from '../payments/options/routes.ts'
import { orderRoutes } from '../payments/orders/routes.ts'
import { x402Routes } from '../payments/x402/routes.ts'
import { deliveryRoutes } from '../webhooks/deliveries/routes.ts'
import { endpointRoutes } from '../webhooks/endpoints/routes.ts'
import { moneyAdministrationRoutes, type Standing } from './administration.ts'
import { capabilityTasks } from './capability-tasks.ts'
import type { Core } from './core.ts'
import { healthRoutes } from './health.ts'
import type { Media } from './media.ts'
import { webhookDescriptions } from './webhooks.ts'

/** How long a stream is read on after its client left. */
const CLIENT_GONE_DRAIN_MS = 120_000

/** What is known, or can be asked, once the server listens. */
export interface Listening {
  readonly publicUrl: () => string
  readonly sendAs: McpDeps['sendAs']
  readonly standing: Standing
}

/** Every endpoint there is: the one list of slices. */
export function allRoutes(core: Core, media: Media, { publicUrl, sendAs, standing }: Listening): Route[] {
  const { db, around, metrics, tokens } = core
  const { config, clock, random, pepper, version } = around
  const keys = { db, random, clock, pepper }
  const sessions = { db, random, tokens }
  const { chains, payerWallets } = core.payments
  const hint = paymentHint(core, publicUrl)
  const orders = { db, clock, random, chains, payerWallets, contextTokens: contextTokens(tokens) }
  const routes: Route[] = [
    ...agentSignInRoutes({
      db,
      random,
      publicUrl,
      sessions: sessionOpener(sessions),
      firstKey: firstKeyMaker(keys),
      signInGuard: core.limits.signInGuard,
    }),
    ...ownerRoutes(core, publicUrl),
    ...sessionRoutes({ ...sessions, publicUrl }),
    ...accountRoutes(core),
    ...keyRoutes(keys),
    ...linkRoutes(core),
    ...walletRoutes({ db, random, publicUrl }),
    ...optionRoutes(core.payments),
    ...contextRoutes({ ...orders, publicUrl }),
    ...orderRoutes(orders),
    ...x402Routes({ db, publicUrl, topUps: core.x402.topUps, authenticate: core.authenticator.authenticate }),
    ...axonRoutes(core.payments.axon.deps),
    ...creditRoutes(core),
    ...callRoutes(core),
    ...settlementRoutes({ db, paymentHint: hint }),
    ...refundRoutes(core),
    ...usageRoutes({ db, clock }),
    ...modelsRoutes({ models: core.models, mediaModels: core.mediaModels, clock }),
    ...media.routes,
    ...chatRoutes({
      ...core,
      clock,
      paymentHint: hint,
      drainMs: CLIENT_GONE_DRAIN_MS,
      ending: core.ending.signal,
      onAttempt: metrics.attempted,
      onChat: metrics.chatted,
      chatBodyLimit: config.limits.chatBodyBytes,
      streamsMax: config.limits.concurrentStreams,
    }),
    ...endpointRoutes({ db, clock, ...core.webhooks }),
    ...deliveryRoutes({ db, clock }),
    ...administrationRoutes(core, standing),
    ...capabilitiesAndTools(core, media, publicUrl, sendAs),
    ...consoleRoutes(),
    ...docsRoutes({ routes: () => routes, version, publicUrl, webhooks: webhookDescriptions }),
    ...healthRoutes({
      db,
      metrics,
      version,
      closing: core.closing,
      ledgerFailing: () => core.applier.failing,
      payments: core.payments,
      offer: core.offer,
      x402: core.x402,
      serveMetrics: config.metricsPort === undefined,
    }),
  ]
  return routes
}

/** What the 402 answers of billed endpoints say about paying. */
export const paymentHint =
  ({ payments }: Pick<Core, 'payments'>, publicUrl: () => string): PaymentHint =>
  (shortfallMicro) => ({ topup_url: `${publicUrl()}/topup`, ...paymentObject(payments.chains, shortfallMicro) })

/** What admins do in the console: the verbs of the operator's command line. */
function administrationRoutes(core: Core, standing: Standing): readonly Route[] {
  const { db, around } = core
  const { clock, random } = around
  return [
    ...accountAdministrationRoutes({ db }),
    ...grantRoutes({ db, clock }),
    ...refundAdministrationRoutes({ db }),
    ...invitationAdministrationRoutes({ db, clock, random }),
    ...auditLogRoutes({ db }),
    ...moneyAdministrationRoutes(core, standing),
  ]
}

/** Operations over HTTP, and the same as tools. */
function capabilitiesAndTools(
  core: Core,
  media: Media,
  publicUrl: () => string,
  sendAs: McpDeps['sendAs'],
): readonly Route[] {
  const { capabilities } = core.offer
  const { config, version } = core.around
  return [
    ...capabilityRoutes({
      ...core,
      capabilities,
      createTask: capabilityTasks(media),
      paymentHint: paymentHint(core, publicUrl),
      ending: core.ending.signal,
      onInvoked: core.metrics.invoked,
    }),
    ...mcpRoutes({
      version,
      publicUrl,
      sendAs,
      ...config.mcp,
      operations: () => operationTools(capabilities()),
      onTrouble: core.onTrouble,
    }),
  ]
}

/** How owners sign in, and let programs act for them. */
function ownerRoutes(core: Core, publicUrl: () => string): readonly Route[] {
  const { db, tokens, limits, around } = core
  const sessions = sessionOpener({ random: around.random, tokens })
  return [
    ...ownerSignInRoutes({ ...ownerSignIn(core, publicUrl), sessions }),
    ...deviceRoutes({
      db,
      random: around.random,
      sessions,
      guessGuard: limits.guessGuard,
      consoleUrl: consoleUrl(core, publicUrl),
    }),
  ]
}

const consoleUrl =
  ({ around }: Pick<Core, 'around'>, publicUrl: () => string) =>
  (): string =>
    around.config.oidc.consoleUrl ?? `${publicUrl()}/console`

function ownerSignIn({ db, around, onTrouble }: Core, publicUrl: () => string): Omit<OwnerRoutesDeps, 'sessions'> {
  const {
    config: { oidc },
    secrets,
    clock,
    random,
  } = around
  const providers: OwnerRoutesDeps['providers'] = Object.assign(
    Object.create(null),
    ...Object.entries(oidc.providers).map(([name, settings]) => ({
      [name]: identityProvider({ ...settings, clientSecret: secrets.oidcClientSecrets[name] }, clock),
    })),
  )
  return {
    db,
    random,
    providers,
    consumeInvitation,
    invitationHash,
    publicUrl,
    onTrouble,
    requireInvitation: oidc.requireInvitation,
    consoleUrl: consoleUrl({ around }, publicUrl),
  }
}
