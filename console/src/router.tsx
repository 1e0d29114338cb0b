import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from '@tanstack/react-router'
import { Frame } from './ui/frame.tsx'
import { NotFound } from './ui/not-found.tsx'
import { PageError } from './ui/page-error.tsx'

const root = createRootRoute({ component: Outlet, notFoundComponent: NotFound, errorComponent: PageError })

/** Search parameters as they are in the address: every page reads its own, so that each view has a link. */
const asText = (search: Record<string, unknown>): Record<string, string> =>
  Object.fromEntries(Object.entries(search).map(([name, value]) => [name, String(value)]))

/** Pages without the frame: whoever opens them may not be signed in. */
const outside = [
  createRoute({
    getParentRoute: () => root,
    path: '/console/auth',
    validateSearch: asText,
    component: lazyRouteComponent(() => import('./pages/auth-return.tsx'), 'AuthReturn'),
  }),
]

const frame = createRoute({ getParentRoute: () => root, id: 'frame', component: Frame })

/** Every page inside the frame: its path and the file it is in. Another page is a line here and one in ui/navigation.ts. */
const pages = {
  '/console': lazyRouteComponent(() => import('./pages/home/home.tsx'), 'Home'),
  '/topup': lazyRouteComponent(() => import('./pages/pay/buy.tsx'), 'Buy'),
  '/topup/$order': lazyRouteComponent(() => import('./pages/pay/order.tsx'), 'OrderPage'),
  '/console/orders': lazyRouteComponent(() => import('./pages/orders.tsx'), 'Orders'),
  '/console/usage': lazyRouteComponent(() => import('./pages/usage.tsx'), 'UsagePage'),
  '/console/requests': lazyRouteComponent(() => import('./pages/requests.tsx'), 'Requests'),
  '/console/images': lazyRouteComponent(() => import('./pages/images/images.tsx'), 'Images'),
  '/console/capabilities': lazyRouteComponent(() => import('./pages/capabilities/capabilities.tsx'), 'Capabilities'),
  '/console/settlements': lazyRouteComponent(() => import('./pages/settlements/settlements.tsx'), 'Settlements'),
  '/console/refunds': lazyRouteComponent(() => import('./pages/refunds/refunds.tsx'), 'Refunds'),
  '/console/payments': lazyRouteComponent(() => import('./pages/payments.tsx'), 'Payments'),
  '/console/statement': lazyRouteComponent(() => import('./pages/statement.tsx'), 'StatementPage'),
  '/console/agents': lazyRouteComponent(() => import('./pages/agents/agents.tsx'), 'Agents'),
  '/console/wallets': lazyRouteComponent(() => import('./pages/wallets.tsx'), 'OwnerWallets'),
  '/console/sessions': lazyRouteComponent(() => import('./pages/sessions.tsx'), 'Sessions'),
  '/console/device': lazyRouteComponent(() => import('./pages/device.tsx'), 'Device'),
  '/console/keys': lazyRouteComponent(() => import('./pages/keys.tsx'), 'Keys'),
  '/console/webhooks': lazyRouteComponent(() => import('./pages/webhooks/webhooks.tsx'), 'Webhooks'),
  '/console/account': lazyRouteComponent(() => import('./pages/account.tsx'), 'AccountPage'),
  '/console/operator': lazyRouteComponent(() => import('./pages/operator/money/overview.tsx'), 'OperatorOverview'),
  '/console/operator/reviews': lazyRouteComponent(
    () => import('./pages/operator/money/reviews.tsx'),
    'OperatorReviews',
  ),
  '/console/operator/reviews/$id': lazyRouteComponent(
    () => import('./pages/operator/money/review.tsx'),
    'OperatorReview',
  ),
  '/console/operator/holds': lazyRouteComponent(() => import('./pages/operator/money/holds.tsx'), 'OperatorHolds'),
  '/console/operator/holds/$id': lazyRouteComponent(() => import('./pages/operator/money/hold.tsx'), 'OperatorHold'),
  '/console/operator/prices': lazyRouteComponent(() => import('./pages/operator/money/prices.tsx'), 'OperatorPrices'),
  '/console/operator/accounts': lazyRouteComponent(() => import('./pages/operator/accounts/accounts.tsx'), 'Accounts'),
  '/console/operator/accounts/$id': lazyRouteComponent(
    () => import('./pages/operator/accounts/account.tsx'),
    'AccountInFull',
  ),
  '/console/operator/refunds': lazyRouteComponent(() => import('./pages/operator/refunds.tsx'), 'OperatorRefunds'),
  '/console/operator/invitations': lazyRouteComponent(() => import('./pages/operator/invitations.tsx'), 'Invitations'),
  '/console/operator/audit-log': lazyRouteComponent(() => import('./pages/operator/audit-log.tsx'), 'AuditLog'),
}

const inside = Object.entries(pages).map(([path, component]) =>
  createRoute({ getParentRoute: () => frame, path, validateSearch: asText, component }),
)

const home = createRoute({
  getParentRoute: () => root,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/console' })
  },
})

/** The addresses of the console. */
export const router = createRouter({
  routeTree: root.addChildren([...outside, frame.addChildren(inside), home]),
  scrollRestoration: true,
})
