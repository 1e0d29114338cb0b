import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../api/client.ts'
import { ApiError } from '../api/error.ts'
import type { Reply } from '../api/types.ts'
import { useSession } from '../session/use-session.ts'
import { Button, ButtonLink, Card, ErrorCard, Field, Notice, PageHead, Time } from '../ui/parts.tsx'
import { Answer } from '../ui/query.tsx'
import { useFilters } from '../ui/search.ts'

type Login = Reply<'/v1/auth/device/{user_code}', 'get'>['data']

/** An approved program fetches its tokens within seconds; a pending one may lapse. */
const LOOK_AGAIN_MS = 2_000

/** Where an owner lets a program, such as `farebox login`, act in their name. */
export function Device() {
  const [{ user_code: code = '' }, change] = useFilters()
  const session = useSession()
  const isOwner = session.status === 'signed-in' && session.account.account_type === 'owner'
  return (
    <>
      <PageHead title="Log a program in">
        A program that you run, such as farebox login, shows a code. Approve it here, and the program acts as you.
      </PageHead>
      {!isOwner ? (
        <Notice tone="warn" title="Only owners approve programs">
          <p>You are signed in as an Agent. Sign out, and sign in as the owner.</p>
        </Notice>
      ) : code === '' ? (
        <Card title="Which code does the program show?">
          <CodeForm onCode={(typed) => change({ user_code: typed })} />
        </Card>
      ) : (
        <Asked key={code} code={code} onAnother={() => change({ user_code: '' })} />
      )}
    </>
  )
}

function CodeForm({ onCode }: { onCode: (code: string) => void }) {
  const [typed, setTyped] = useState('')
  const [isWrong, setIsWrong] = useState(false)
  const letters = typed.replace(/[^a-z]/gi, '').toUpperCase()
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault()
        if (letters.length === 8) onCode(`${letters.slice(0, 4)}-${letters.slice(4)}`)
        else setIsWrong(true)
      }}
    >
      <Field
        label="Code"
        hint="Eight letters, such as BCDF-GHJK. The dash does not matter."
        problem={isWrong && letters.length !== 8 ? 'A code has eight letters.' : undefined}
      >
        {(ids) => (
          <input
            {...ids}
            className="input"
            value={typed}
            maxLength={16}
            autoComplete="off"
            autoCapitalize="characters"
            spellCheck={false}
            onChange={(event) => setTyped(event.target.value)}
          />
        )}
      </Field>
      <div className="row">
        <Button type="submit" kind="primary">
          Continue
        </Button>
      </div>
    </form>
  )
}

function Asked({ code, onAnother }: { code: string; onAnother: () => void }) {
  const queries = useQueryClient()
  const path = `/v1/auth/device/${encodeURIComponent(code)}`
  const login = useQuery({
    queryKey: [path],
    queryFn: ({ signal }) => api<{ data: Login }>(path, { signal }),
    refetchInterval: ({ state }) => (state.data?.data.status === 'approved' ? LOOK_AGAIN_MS : false),
  })
  const decide = useMutation({
    mutationFn: (decision: 'approve' | 'deny') =>
      api<{ data: Login }>(`${path}/${decision}`, { method: 'POST', body: {} }),
    onSuccess: (answer) => queries.setQueryData([path], answer),
    onError: () => queries.invalidateQueries({ queryKey: [path] }),
  })
  const isGone = [login.error, decide.error].some(
    (error) => error instanceof ApiError && error.code === 'device_login_not_found',
  )
  if (isGone && login.data?.data.status !== 'completed')
    return (
      <Notice tone="bad" title="No program waits with this code">
        <p>
          It was mistyped, is older than 10 minutes, or another owner decided it. Compare it with what the program
          shows.
        </p>
        <div className="row">
          <Button onClick={onAnother}>Type the code again</Button>
        </div>
      </Notice>
    )
  return (
    <Answer query={login} lines={5}>
      {({ data }) => (
        <>
          {decide.error ? <ErrorCard error={decide.error} /> : null}
          <Decision
            login={data}
            busy={decide.isPending}
            onApprove={() => decide.mutate('approve')}
            onDeny={() => decide.mutate('deny')}
          />
        </>
      )}
    </Answer>
  )
}

/** What asks, and the two answers; once one was given, what became of it. */
function Decision({
  login,
  busy,
  onApprove,
  onDeny,
}: {
  login: Login
  busy: boolean
  onApprove: () => void
  onDeny: () => void
}) {
  return (
    <Card title={login.client_name || 'A program without a name'}>
      <dl className="facts">
        <dt>Code</dt>
        <dd>
          <strong>
            <code>{login.user_code}</code>
          </strong>
        </dd>
        <dt>Asks from</dt>
        <dd>{login.network}</dd>
        <dt>Asked</dt>
        <dd>
          <Time at={login.created_at} relative />
        </dd>
      </dl>
      {login.status === 'pending' ? (
        <>
          <p>
            It will be able to do what you can: spend your Credits, make keys, link Agents. Approve it only if you began
            this yourself, just now, and the program shows the same code.
          </p>
          <div className="row">
            <Button kind="primary" busy={busy} onClick={onApprove}>
              Approve
            </Button>
            <Button kind="danger" busy={busy} onClick={onDeny}>
              Deny
            </Button>
          </div>
        </>
      ) : null}
      <div role="status" className="stack-tight">
        {login.status === 'approved' ? (
          <Notice tone="good" title="Approved">
            <p>Go back to the program: it is logged in within a few seconds.</p>
          </Notice>
        ) : null}
        {login.status === 'completed' ? (
          <Notice tone="good" title="The program is logged in">
            <p>You can close this page. Sessions lists the program, and ends it.</p>
          </Notice>
        ) : null}
        {login.status === 'denied' ? (
          <Notice tone="neutral" title="Denied">
            <p>The program was told. It has no access.</p>
          </Notice>
        ) : null}
      </div>
      {login.status === 'approved' ? (
        <div className="row">
          <Button busy={busy} onClick={onDeny}>
            Take it back
          </Button>
        </div>
      ) : null}
      {login.status === 'completed' ? (
        <div className="row">
          <ButtonLink to="/console/sessions">See the sessions</ButtonLink>
        </div>
      ) : null}
    </Card>
  )
}
