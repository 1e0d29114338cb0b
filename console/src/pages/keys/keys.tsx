import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import type { Reply } from '../../api/types.ts'
import { Badge, Button, Card, Credits, Empty, PageHead, Table, Time } from '../../ui/parts.tsx'
import { Answer } from '../../ui/query.tsx'
import { MakeKeyDialog } from './make-dialog.tsx'
import { RevokeKeyDialog } from './revoke-dialog.tsx'

type KeyList = Reply<'/v1/me/api-keys', 'get'>
/** A key as the list shows it; never its secret. */
export type Key = KeyList['keys'][number]

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
      <MakeKeyDialog open={making} onClose={() => setMaking(false)} />
      {revoking ? <RevokeKeyDialog what={revoking} onClose={() => setRevoking(undefined)} /> : null}
    </>
  )
}

const DAY_MS = 86_400_000
const SPENT_DAYS = 30

/** Microcredits by key, of the last days; undefined until they are known. */
function useSpent(): ReadonlyMap<number, number> | undefined {
  const to = Math.ceil(Date.now() / DAY_MS) * DAY_MS
  const from = new Date(to - SPENT_DAYS * DAY_MS).toISOString()
  const usage = useQuery({
    queryKey: ['usage', 'keys', from],
    queryFn: ({ signal }) => {
      const query = new URLSearchParams({ from, to: new Date(to).toISOString(), group_by: 'key' })
      return api<Reply<'/v1/usage', 'get'>>(`/v1/usage?${query}`, { signal })
    },
  })
  return usage.data && new Map(usage.data.data.map((row) => [row.key_id ?? 0, row.charged_micro]))
}

function KeyTable({ keys, onRevoke }: { keys: readonly Key[]; onRevoke?: (key: Key) => void }) {
  const spent = useSpent()
  return (
    <Table
      caption="API keys"
      columns={[
        'Name',
        'Key',
        'Last used',
        'Created',
        'Ends',
        { number: 'Spent in 30 days' },
        'Budget',
        ...(onRevoke ? ['Actions'] : []),
      ]}
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
          <td className="number">
            {spent ? <Credits micro={spent.get(key.id) ?? 0} /> : <span className="quiet">–</span>}
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
