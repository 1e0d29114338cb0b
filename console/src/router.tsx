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

/** Pages without the frame: whoever opens them may not be signed in. */
const outside = [
  createRoute({
    getParentRoute: () => root,
    path: '/console/auth',
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
  '/console/keys': lazyRouteComponent(() => import('./pages/keys/keys.tsx'), 'Keys'),
  '/console/webhooks': lazyRouteComponent(() => import('./pages/webhooks/webhooks.tsx'), 'Webhooks'),
  '/console/account': lazyRouteComponent(() => import('./pages/account.tsx'), 'AccountPage'),
}

const inside = Object.entries(pages).map(([path, component]) =>
  createRoute({ getParentRoute: () => frame, path, component }),
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
  // addresses say what people would write: every value is text, without the quotes and JSON of the router's own form
  parseSearch: (text) => Object.fromEntries(new URLSearchParams(text)),
  stringifySearch: (search) => {
    const text = new URLSearchParams(search).toString()
    return text && `?${text}`
  },
})
