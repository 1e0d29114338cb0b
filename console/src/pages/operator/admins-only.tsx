import type { ReactNode } from 'react'
import { useSession } from '../../session/use-session.ts'
import { ButtonLink, Empty, PageHead } from '../../ui/parts.tsx'

/** A page of the operator's; whoever is no admin is told so, and how one becomes one. The server refuses them anyway. */
export function AdminsOnly({ children }: { children: ReactNode }) {
  const state = useSession()
  if (state.status !== 'signed-in') return null
  const { account } = state
  if (account.role === 'admin') return children
  return (
    <>
      <PageHead title="For admins only" />
      <Empty title="This page is for admins of this server (403)">
        <p>You are signed in as {account.email || `account ${account.id}`}, an ordinary user.</p>
        {account.account_type === 'agent' ? (
          <p>An Agent is never an admin: sign in as an owner who is one.</p>
        ) : (
          <p>
            Whoever runs the server makes you an admin by <code>farebox account role {account.id} admin</code>.
          </p>
        )}
        <ButtonLink to="/console">To the home page</ButtonLink>
      </Empty>
    </>
  )
}
