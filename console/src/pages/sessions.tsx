import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../api/client.ts'
import type { Reply } from '../api/types.ts'
import { session } from '../session/session.ts'
import { Dialog } from '../ui/dialog.tsx'
import { List, useList } from '../ui/list.tsx'
import { Badge, Button, Card, Empty, ErrorCard, PageHead, Table, Time } from '../ui/parts.tsx'
import { deviceName } from './device-name.ts'

type Session = Reply<'/v1/me/sessions', 'get'>['data'][number]

/** Where this account is signed in, and how to end that. */
export function Sessions() {
  const list = useList<Session>('/v1/me/sessions')
  const queries = useQueryClient()
  const [asking, setAsking] = useState(false)
  const end = useMutation({
    mutationFn: (id: number) => api(`/v1/me/sessions/${id}`, { method: 'DELETE' }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['/v1/me/sessions'] }),
  })
  return (
    <>
      <PageHead
        title="Sessions"
        actions={
          <Button kind="danger" onClick={() => setAsking(true)}>
            Sign out everywhere
          </Button>
        }
      >
        Browsers and programs that signed in. API keys are not sessions: they go on.
      </PageHead>
      <Card>
        {end.error ? <ErrorCard error={end.error} /> : null}
        <List list={list} empty={<Empty title="Only this session" />}>
          {(rows) => (
            <Table caption="Sessions" columns={['Device', 'Last used', 'Signed in', 'Ends', 'Actions']}>
              {rows.map((row) => (
                <tr key={row.id}>
                  <td>
                    <span title={row.device}>{deviceName(row.device)}</span>{' '}
                    {row.current ? <Badge tone="accent">This one</Badge> : null}
                  </td>
                  <td>
                    <Time at={row.last_used_at} relative />
                  </td>
                  <td>
                    <Time at={row.created_at} />
                  </td>
                  <td>
                    <Time at={row.expires_at} />
                  </td>
                  <td>
                    {row.current ? (
                      <span className="quiet">Sign out above</span>
                    ) : (
                      <Button
                        small
                        busy={end.isPending}
                        onClick={() => end.mutate(row.id)}
                        aria-label={`End the session of ${deviceName(row.device)}`}
                      >
                        End
                      </Button>
                    )}
                  </td>
                </tr>
              ))}
            </Table>
          )}
        </List>
      </Card>
      <EverywhereDialog open={asking} onClose={() => setAsking(false)} />
    </>
  )
}

function EverywhereDialog({ open, onClose }: { open: boolean; onClose: () => void }) {
  const leave = useMutation({
    mutationFn: () => api('/v1/me/sessions/revoke-all', { method: 'POST', body: {} }),
    onSuccess: () => session.wasEnded(),
  })
  return (
    <Dialog open={open} onOpenChange={(next) => (next ? undefined : onClose())} title="Sign out everywhere">
      <p>Every session ends, this one too: you sign in again. API keys keep working.</p>
      {leave.error ? <ErrorCard error={leave.error} /> : null}
      <footer>
        <Button onClick={onClose}>Cancel</Button>
        <Button kind="danger" busy={leave.isPending} onClick={() => leave.mutate()}>
          Sign out everywhere
        </Button>
      </footer>
    </Dialog>
  )
}
