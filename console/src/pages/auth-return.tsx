import { useNavigate } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { ApiError } from '../api/error.ts'
import { send } from '../api/transport.ts'
import { asCookie, type SignedIn, session } from '../session/session.ts'
import { Button, ButtonLink, Card, ErrorCard, Field, Notice, Skeleton } from '../ui/parts.tsx'

const refusals: Readonly<Record<string, string>> = {
  access_denied: 'The sign-in was cancelled.',
  provider_unavailable: 'The identity provider does not answer. Try again in a minute.',
  invitation_required: 'This server takes new owners by invitation only.',
  account_banned: 'This account is banned. Ask the operator of this server why.',
  account_deactivated: 'This account is deactivated. Ask the operator of this server to activate it.',
}

const post = (path: string, body: unknown) => send<SignedIn>(path, { method: 'POST', body, headers: asCookie })

/** Only a path of this console is gone back to. */
const ownPath = (path: string | undefined): string =>
  path?.startsWith('/') && !path.startsWith('//') ? path : '/console'

/** Where the identity provider sends owners back to: a code to exchange, an invitation to correct, or an error. */
export function AuthReturn() {
  const navigate = useNavigate()
  // read once: the address is cleared, so that neither a reload nor a bookmark sends a code or an invitation again
  const [said] = useState(() => Object.fromEntries(new URLSearchParams(location.search)))
  const [failure, setFailure] = useState<Error>()
  const begun = useRef(false)
  useEffect(() => {
    if (begun.current) return
    begun.current = true
    history.replaceState(history.state, '', location.pathname)
    if (said.code === undefined) return
    post('/v1/auth/oidc/exchange', { code: said.code })
      .then((answer) => {
        session.begin(answer)
        // an address, not a path: what the page is asked is in its query
        return navigate({ href: ownPath(said.return_to), replace: true })
      })
      .catch(setFailure)
  }, [said, navigate])

  if (said.registration_id !== undefined)
    return (
      <Invitation
        registrationId={said.registration_id}
        required={said.error === 'invitation_required'}
        returnTo={ownPath(said.return_to)}
      />
    )
  const error = said.error
  return (
    <main className="alone">
      <title>Sign in · Farebox</title>
      {failure ? (
        <div className="stack">
          <ErrorCard error={failure} />
          <ButtonLink to="/console">Sign in again</ButtonLink>
        </div>
      ) : error ? (
        <div className="stack">
          <Notice tone="bad" title="You are not signed in">
            <p>{refusals[error] ?? `The identity provider said: ${error.replaceAll('_', ' ')}.`}</p>
          </Notice>
          <ButtonLink to="/console">Sign in again</ButtonLink>
        </div>
      ) : (
        <Skeleton lines={4} />
      )}
    </main>
  )
}

/** The invitation was wrong: correct it, or go on without one where the operator allows that (spec 5.8). */
function Invitation({
  registrationId,
  required,
  returnTo,
}: {
  registrationId: string
  required: boolean
  returnTo: string
}) {
  const navigate = useNavigate()
  const [code, setCode] = useState('')
  const [busy, setBusy] = useState(false)
  const [failure, setFailure] = useState<Error>()
  const register = async (invitationCode: string | undefined) => {
    setBusy(true)
    setFailure(undefined)
    try {
      const answer = await post('/v1/auth/oidc/register', {
        registration_id: registrationId,
        ...(invitationCode === undefined ? {} : { invitation_code: invitationCode }),
      })
      session.begin(answer)
      await navigate({ href: returnTo, replace: true })
    } catch (error) {
      setFailure(error as Error)
      setBusy(false)
    }
  }
  const wrongCode = failure instanceof ApiError && failure.code === 'invitation_invalid'
  return (
    <main className="alone">
      <title>Invitation · Farebox</title>
      <Card title={required ? 'An invitation is needed' : 'This invitation code is not valid'}>
        <p>
          {required
            ? 'Your account will be made with a valid code.'
            : 'It may be used up, expired or mistyped. Correct it, or go on without one.'}
        </p>
        {failure && !wrongCode ? <ErrorCard error={failure} /> : null}
        <form
          className="stack"
          onSubmit={(event) => {
            event.preventDefault()
            void register(code.trim())
          }}
        >
          <Field label="Invitation code" problem={wrongCode ? 'This code is not valid either.' : undefined}>
            {(ids) => (
              <input
                {...ids}
                className="input"
                value={code}
                maxLength={128}
                autoComplete="off"
                required
                onChange={(event) => setCode(event.target.value)}
              />
            )}
          </Field>
          <div className="row">
            <Button type="submit" kind="primary" busy={busy}>
              Use this code
            </Button>
            {required ? null : (
              <Button busy={busy} onClick={() => void register(undefined)}>
                Go on without a code
              </Button>
            )}
          </div>
        </form>
      </Card>
    </main>
  )
}
