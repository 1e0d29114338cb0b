import { useRouterState } from '@tanstack/react-router'
import { useId, useState } from 'react'
import type { ApiError } from '../api/error.ts'
import { Card, Field, Notice } from '../ui/parts.tsx'
import { Answer } from '../ui/query.tsx'
import { useDoors } from '../ui/support.tsx'
import { keepContext } from './pay/context.ts'
import { WalletSignIn } from './wallet-sign-in.tsx'

/** What a session that ended by itself is worth telling; the first visit is not. */
const reasons: Readonly<Record<string, string>> = {
  refresh_token_reused: 'Your session was continued elsewhere. Sign in again.',
}

/** The two doors: owners by an identity provider, Agents by their wallet. Comes back to the page that was asked for. */
export function SignIn({ because }: { because?: ApiError | undefined }) {
  const reason = because && reasons[because.code]
  return (
    <main className="alone">
      <title>Sign in · Farebox</title>
      <div className="stack">
        <div className="stack-tight">
          <img src="/console/icon.svg" alt="" width="44" height="44" />
          <h1>Sign in to Farebox</h1>
          <p className="quiet">Prepaid Credits for AI models and capabilities.</p>
        </div>
        {reason ? (
          <Notice tone="warn">
            <p>{reason}</p>
          </Notice>
        ) : null}
        <OwnerDoor />
        <Card title="Agents">
          <WalletSignIn />
        </Card>
      </div>
    </main>
  )
}

function OwnerDoor() {
  const id = useId()
  const [invite, setInvite] = useState('')
  const query = useDoors()
  // followed, because somebody may go back a page before they sign in
  const { pathname, searchStr } = useRouterState({ select: (state) => state.location })
  // leaving for the identity provider loses the fragment
  const start = (provider: string): string => {
    const search = new URLSearchParams({ return_to: pathname + searchStr })
    if (invite.trim() !== '') search.set('invite', invite.trim())
    return `/v1/auth/oidc/${encodeURIComponent(provider)}/start?${search}`
  }
  return (
    <Card title="Owners">
      <Answer query={query} lines={2}>
        {({ data: providers }) =>
          providers.length === 0 ? (
            <p className="quiet">The operator has set up no identity provider yet.</p>
          ) : (
            <>
              <div className="stack-tight">
                {providers.map((provider) => (
                  <a
                    key={provider.name}
                    className="button"
                    data-kind="primary"
                    href={start(provider.name)}
                    onClick={keepContext}
                  >
                    Continue with {provider.label}
                  </a>
                ))}
              </div>
              <details>
                <summary id={id}>I have an invitation code</summary>
                <Field
                  label="Invitation code"
                  hint="Used when your account is made. An account that exists does not need it."
                >
                  {(ids) => (
                    <input
                      {...ids}
                      className="input"
                      value={invite}
                      maxLength={128}
                      autoComplete="off"
                      onChange={(event) => setInvite(event.target.value)}
                    />
                  )}
                </Field>
              </details>
            </>
          )
        }
      </Answer>
    </Card>
  )
}
