import { useQuery } from '@tanstack/react-query'
import { Link, Outlet, useRouterState } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { api } from '../api/client.ts'
import type { Reply } from '../api/types.ts'
import { SignIn } from '../pages/sign-in.tsx'
import { type Account, session } from '../session/session.ts'
import { useSession } from '../session/use-session.ts'
import { navigation } from './navigation.ts'
import { Button, Credits, Notice, Skeleton } from './parts.tsx'
import { useOnline } from './use-online.ts'

/** Navigation, balance and account around every page; the sign-in in their place for whoever is nobody yet. */
export function Frame() {
  const state = useSession()
  useEffect(() => {
    void session.restore()
  }, [])
  if (state.status === 'unknown')
    return (
      <div className="alone">
        <Skeleton lines={4} />
      </div>
    )
  if (state.status === 'signed-out') return <SignIn because={state.because} />
  return <Inside account={state.account} />
}

function Inside({ account }: { account: Account }) {
  const main = useRef<HTMLElement>(null)
  const path = useRouterState({ select: ({ location }) => location.pathname })
  const online = useOnline()
  // a new page begins at its heading, for the eye and for the screen reader
  // biome-ignore lint/correctness/useExhaustiveDependencies: it is the path whose change matters
  useEffect(() => main.current?.focus({ preventScroll: true }), [path])
  return (
    <div className="frame">
      <a href="#main" className="skip">
        Skip to the page
      </a>
      <Navigation account={account} path={path} />
      <div>
        <Top account={account} />
        {online ? null : (
          <Notice tone="warn" title="You are offline">
            <p>What you see is from before. It is renewed once you are back.</p>
          </Notice>
        )}
        <main id="main" className="page" tabIndex={-1} ref={main}>
          <Outlet />
        </main>
      </div>
    </div>
  )
}

function Navigation({ account, path }: { account: Account; path: string }) {
  const [open, setOpen] = useState(false)
  // biome-ignore lint/correctness/useExhaustiveDependencies: it is the path whose change matters
  useEffect(() => setOpen(false), [path])
  const shown = navigation.filter(
    (group) =>
      group.for === 'everyone' ||
      (group.for === 'owners' && account.account_type === 'owner') ||
      (group.for === 'admins' && account.role === 'admin'),
  )
  return (
    <aside className="side" data-open={open}>
      <div className="side-head">
        <Link to="/console" className="brand">
          <img src="/console/icon.svg" alt="" />
          Farebox
        </Link>
        <button
          type="button"
          className="button side-toggle"
          data-size="small"
          aria-expanded={open}
          onClick={() => setOpen(!open)}
        >
          Menu
        </button>
      </div>
      <nav className="nav" aria-label="Pages">
        {shown.map((group) => (
          <div key={group.title}>
            <h2>{group.title}</h2>
            {group.items.map(({ to, label }) => (
              <Link
                key={to}
                to={to}
                activeOptions={{ exact: to === '/console' || to === '/console/operator', includeSearch: false }}
              >
                {label}
              </Link>
            ))}
          </div>
        ))}
      </nav>
    </aside>
  )
}

function Top({ account }: { account: Account }) {
  const balance = useQuery({
    queryKey: ['balance'],
    queryFn: ({ signal }) => api<Reply<'/v1/credits/balance', 'get'>>('/v1/credits/balance', { signal }),
    refetchInterval: 10_000,
  })
  const [leaving, setLeaving] = useState(false)
  const [failed, setFailed] = useState(false)
  const leave = async () => {
    setLeaving(true)
    setFailed(false)
    await session.end().catch(() => setFailed(true))
    setLeaving(false)
  }
  return (
    <header className="top">
      {balance.data ? (
        <span>
          <span className="quiet small">Available </span>
          <strong>
            <Credits micro={balance.data.available_micro} />
          </strong>
        </span>
      ) : null}
      <span className="quiet small">{account.email || `Account ${account.id}`}</span>
      {failed ? (
        <span role="alert" className="small">
          You are still signed in: the server did not confirm.
        </span>
      ) : null}
      <Button small busy={leaving} onClick={() => void leave()}>
        Sign out
      </Button>
    </header>
  )
}
