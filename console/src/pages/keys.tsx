import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../api/client.ts'
import type { Reply } from '../api/types.ts'
import { Dialog } from '../ui/dialog.tsx'
import { toMicro } from '../ui/format.ts'
import { Badge, Button, Card, Credits, Empty, ErrorCard, Field, PageHead, Table, Time } from '../ui/parts.tsx'
import { Answer } from '../ui/query.tsx'
import { ShownOnce } from '../ui/shown-once.tsx'

type KeyList = Reply<'/v1/me/api-keys', 'get'>
type Key = KeyList['keys'][number]

/** The account's API keys: make one, see when each was last used, take one back. */
export function Keys() {
  const keys = useQuery({ queryKey: ['keys'], queryFn: ({ signal }) => api<KeyList>('/v1/me/api-keys', { signal }) })
  const [making, setMaking] = useState(false)
  const [revoking, setRevoking] = useState<Key | 'all'>()
  const [revokedShown, setRevokedShown] = useState(false)
  return (
    <>
      <PageHead
        title="API keys"
        actions={
          <Button kind="primary" onClick={() => setMaking(true)}>
            New key
          </Button>
        }
      >
        One key for each program, so that one can be taken back without stopping the others. A key never belongs in a
        browser.
      </PageHead>
      <Answer query={keys} lines={5}>
        {({ keys: all }) => {
          const active = all.filter((key) => key.status === 'active')
          const revoked = all.filter((key) => key.status === 'revoked')
          return (
            <>
              <Card title={`${active.length} active`}>
                {active.length === 0 ? (
                  <Empty title="No key yet">
                    <p>Programs call the API with a key. Make one for the first of them.</p>
                    <Button kind="primary" onClick={() => setMaking(true)}>
                      Create your first key
                    </Button>
                  </Empty>
                ) : (
                  <KeyTable keys={active} onRevoke={setRevoking} />
                )}
              </Card>
              {revoked.length > 0 ? (
                <Card
                  title={`${revoked.length} revoked or expired`}
                  actions={
                    <Button small aria-expanded={revokedShown} onClick={() => setRevokedShown(!revokedShown)}>
                      {revokedShown ? 'Hide' : 'Show'}
                    </Button>
                  }
                >
                  {revokedShown ? <KeyTable keys={revoked} /> : null}
                </Card>
              ) : null}
              {active.length > 1 ? (
                <div>
                  <Button kind="danger" onClick={() => setRevoking('all')}>
                    Revoke all keys
                  </Button>
                </div>
              ) : null}
            </>
          )
        }}
      </Answer>
      <MakeDialog open={making} onClose={() => setMaking(false)} />
      {revoking ? <RevokeDialog what={revoking} onClose={() => setRevoking(undefined)} /> : null}
    </>
  )
}

function KeyTable({ keys, onRevoke }: { keys: readonly Key[]; onRevoke?: (key: Key) => void }) {
  return (
    <Table
      caption="API keys"
      head={
        <>
          <th scope="col">Name</th>
          <th scope="col">Key</th>
          <th scope="col">Last used</th>
          <th scope="col">Created</th>
          <th scope="col">Ends</th>
          <th scope="col">Budget</th>
          {onRevoke ? <th scope="col">Actions</th> : null}
        </>
      }
    >
      {keys.map((key) => (
        <tr key={key.id}>
          <td>{key.name || <span className="quiet">No name</span>}</td>
          <td>
            <code>
              {key.prefix}…{key.last4}
            </code>
          </td>
          <td>{key.last_used_at ? <Time at={key.last_used_at} relative /> : <span className="quiet">Never</span>}</td>
          <td>
            <Time at={key.created_at} />
          </td>
          <td>
            {key.revoked_at ? (
              <Badge tone="bad">
                Revoked <Time at={key.revoked_at} relative />
              </Badge>
            ) : (
              <Time at={key.expires_at} />
            )}
          </td>
          <td>
            <Budget budget={key.budget} />
          </td>
          {onRevoke ? (
            <td>
              <Button small kind="danger" onClick={() => onRevoke(key)} aria-label={`Revoke ${key.name || key.last4}`}>
                Revoke
              </Button>
            </td>
          ) : null}
        </tr>
      ))}
    </Table>
  )
}

const limits = [
  ['per_call_micro', 'a call'],
  ['daily_micro', 'a day'],
  ['monthly_micro', 'a month'],
  ['total_micro', 'in all'],
] as const

function Budget({ budget }: { budget: Key['budget'] }) {
  const set = limits.filter(([name]) => budget?.[name] != null)
  if (set.length === 0) return <span className="quiet">None</span>
  return set.map(([name, words]) => (
    <div key={name}>
      <Credits micro={budget?.[name] ?? 0} /> {words}
    </div>
  ))
}

function MakeDialog({ open, onClose }: { open: boolean; onClose: () => void }) {
  const queries = useQueryClient()
  const [name, setName] = useState('')
  const [daily, setDaily] = useState('')
  const dailyMicro = daily.trim() === '' ? undefined : toMicro(daily)
  const wrong = daily.trim() !== '' && dailyMicro === undefined
  const make = useMutation({
    mutationFn: () =>
      api<Reply<'/v1/me/api-keys', 'post'>>('/v1/me/api-keys', {
        method: 'POST',
        body: {
          ...(name.trim() === '' ? {} : { name: name.trim() }),
          ...(dailyMicro === undefined ? {} : { budget: { daily_micro: Number(dailyMicro) } }),
        },
      }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['keys'] }),
  })
  const close = () => {
    onClose()
    make.reset()
    setName('')
    setDaily('')
  }
  const secret = make.data?.api_key
  return (
    <Dialog
      open={open}
      onOpenChange={(next) => (next ? undefined : close())}
      title={secret ? 'Store your new key' : 'New key'}
      modalOnly={secret !== undefined}
    >
      {secret === undefined ? (
        <form
          className="stack"
          onSubmit={(event) => {
            event.preventDefault()
            if (!wrong) make.mutate()
          }}
        >
          {make.error ? <ErrorCard error={make.error} /> : null}
          <Field label="Name" hint="What will use it, for you to recognise it.">
            {(ids) => (
              <input
                {...ids}
                className="input"
                value={name}
                maxLength={100}
                onChange={(event) => setName(event.target.value)}
              />
            )}
          </Field>
          <Field
            label="Credits a day, at most"
            hint="Empty: no limit of its own."
            problem={wrong ? 'An amount such as 5 or 0.25.' : undefined}
          >
            {(ids) => (
              <input
                {...ids}
                className="input"
                inputMode="decimal"
                value={daily}
                onChange={(event) => setDaily(event.target.value)}
              />
            )}
          </Field>
          <footer>
            <Button onClick={close}>Cancel</Button>
            <Button type="submit" kind="primary" busy={make.isPending}>
              Create key
            </Button>
          </footer>
        </form>
      ) : (
        <ShownOnce secret={secret} what="API key" variable="FAREBOX_API_KEY" onClose={close} />
      )}
    </Dialog>
  )
}

function RevokeDialog({ what, onClose }: { what: Key | 'all'; onClose: () => void }) {
  const queries = useQueryClient()
  const [typed, setTyped] = useState('')
  const wanted = what === 'all' ? 'revoke all' : what.name || what.last4
  const revoke = useMutation({
    mutationFn: () => api(what === 'all' ? '/v1/me/api-keys' : `/v1/me/api-keys/${what.id}`, { method: 'DELETE' }),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['keys'] })
      onClose()
    },
  })
  return (
    <Dialog
      open
      onOpenChange={(next) => (next ? undefined : onClose())}
      title={what === 'all' ? 'Revoke all keys' : 'Revoke this key'}
    >
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault()
          if (typed.trim() === wanted) revoke.mutate()
        }}
      >
        <p>
          {what === 'all' ? 'Every program with a key of this account' : 'Every program with this key'} is refused from
          that moment on. This cannot be undone. Browser sessions stay.
        </p>
        {revoke.error ? <ErrorCard error={revoke.error} /> : null}
        <Field label={`Type “${wanted}” to confirm`}>
          {(ids) => (
            <input
              {...ids}
              className="input"
              autoComplete="off"
              value={typed}
              onChange={(event) => setTyped(event.target.value)}
            />
          )}
        </Field>
        <footer>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="danger" busy={revoke.isPending} disabled={typed.trim() !== wanted}>
            {what === 'all' ? 'Revoke all keys' : 'Revoke this key'}
          </Button>
        </footer>
      </form>
    </Dialog>
  )
}
