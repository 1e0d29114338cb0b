import { useState } from 'react'
import type { Reply } from '../../api/types.ts'
import { List, useList } from '../../ui/list.tsx'
import { Badge, Button, Card, Empty, PageHead, Table, Time } from '../../ui/parts.tsx'
import { AdminsOnly } from './admins-only.tsx'
import { InviteDialog } from './invite-dialog.tsx'
import { type Deed, ReasonDialog, Said } from './reason-dialog.tsx'

type Invitation = Reply<'/v1/admin/invitations', 'get'>['data'][number]

const states = {
  open: { words: 'Open', tone: 'good' },
  used_up: { words: 'Used up', tone: 'neutral' },
  expired: { words: 'Expired', tone: 'neutral' },
  revoked: { words: 'Ended', tone: 'bad' },
} as const

/** Codes that admit new owners. */
export const Invitations = () => (
  <AdminsOnly>
    <Listed />
  </AdminsOnly>
)

function Listed() {
  const list = useList<Invitation>('/v1/admin/invitations')
  const [asking, setAsking] = useState<Deed | 'new'>()
  const [said, setSaid] = useState('')
  const ask = (next: Deed | 'new') => {
    setSaid('')
    setAsking(next)
  }
  return (
    <>
      <PageHead
        title="Invitations"
        actions={
          <Button kind="primary" onClick={() => ask('new')}>
            New invitation
          </Button>
        }
      >
        A code admits a new owner at the first sign-in. Who has an account needs none.
      </PageHead>
      <Said text={said} />
      <Card>
        <List
          list={list}
          empty={
            <Empty title="No invitation yet">
              <p>Make one, and pass its code on.</p>
              <Button kind="primary" onClick={() => ask('new')}>
                Make the first invitation
              </Button>
            </Empty>
          }
        >
          {(rows) => <Rows rows={rows} ask={ask} />}
        </List>
      </Card>
      {asking === 'new' ? <InviteDialog onClose={() => setAsking(undefined)} /> : null}
      {typeof asking === 'object' ? (
        <ReasonDialog
          deed={asking}
          refresh={['/v1/admin/invitations', '/v1/admin/audit-log']}
          onClose={() => setAsking(undefined)}
          onDone={setSaid}
        />
      ) : null}
    </>
  )
}

function Rows({ rows, ask }: { rows: readonly Invitation[]; ask: (deed: Deed) => void }) {
  return (
    <Table caption="Invitations" columns={['Invitation', 'For', 'State', 'Used', 'Expires', 'Made', 'By', 'Actions']}>
      {rows.map((row) => (
        <tr key={row.id}>
          <td>{row.id}</td>
          <td>{row.note || <span className="quiet">Anybody</span>}</td>
          <td>
            <Badge tone={states[row.state].tone}>{states[row.state].words}</Badge>
          </td>
          <td>
            {row.uses} of {row.max_uses}
          </td>
          <td>{row.expires_at === null ? 'Never' : <Time at={row.expires_at} />}</td>
          <td>
            <Time at={row.created_at} />
          </td>
          <td>{row.created_by}</td>
          <td>
            {row.state === 'open' ? (
              <Button small kind="danger" aria-label={`End invitation ${row.id}`} onClick={() => ask(end(row))}>
                End
              </Button>
            ) : (
              <span className="quiet">–</span>
            )}
          </td>
        </tr>
      ))}
    </Table>
  )
}

const end = (row: Invitation): Deed => ({
  title: `End invitation ${row.id}`,
  means: 'Its code admits nobody any more. Who registered with it stays.',
  verb: 'End the invitation',
  danger: true,
  path: `/v1/admin/invitations/${row.id}/revoke`,
  done: `Invitation ${row.id} admits nobody any more.`,
})
