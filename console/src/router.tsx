import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from '@tanstack/react-router'
import { pages } from './pages.ts'
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
  // a page that breaks leaves the navigation around it
  defaultErrorComponent: PageError,
  // addresses say what people would write: every value is text, without the quotes and JSON of the router's own form
  parseSearch: (text) => Object.fromEntries(new URLSearchParams(text)),
  stringifySearch: (search) => {
    const text = new URLSearchParams(search).toString()
    return text && `?${text}`
  },
})
