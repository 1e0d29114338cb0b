import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { Reply } from '../../api/types.ts'
import { fromMicro } from '../../ui/format.ts'
import { List, useList } from '../../ui/list.tsx'
import { Badge, Button, Card, Credits, Empty, Field, PageHead, Table, Time } from '../../ui/parts.tsx'
import { useFilters } from '../../ui/search.ts'
import { AdminsOnly } from './admins-only.tsx'
import { type Deed, ReasonDialog, Said } from './reason-dialog.tsx'

type Refund = Reply<'/v1/admin/refunds', 'get'>['data'][number]

const states = {
  review_required: { words: 'Waits for a decision', tone: 'warn' },
  completed: { words: 'Approved', tone: 'good' },
  rejected: { words: 'Rejected', tone: 'bad' },
} as const

/** Refunds that do not decide themselves: nobody knows from where their call was paid. */
export const OperatorRefunds = () => (
  <AdminsOnly>
    <Listed />
  </AdminsOnly>
)

function Listed() {
  const [filters, change] = useFilters()
  const state = filters.state === 'decided' ? 'decided' : 'waiting'
  const list = useList<Refund>('/v1/admin/refunds', { state }, { cursor: 'cursor' })
  const [asking, setAsking] = useState<Deed>()
  const [said, setSaid] = useState('')
  const ask = (deed: Deed) => {
    setSaid('')
    setAsking(deed)
  }
  return (
    <>
      <PageHead title="Refunds in review">
        Refunds go back by themselves. These do not: it is not known from which Credits their call was paid, so somebody
        decides.
      </PageHead>
      <Said text={said} />
      <Card>
        <div className="filters">
          <Field label="Show">
            {(ids) => (
              <select
                {...ids}
                className="input"
                value={state}
                onChange={(event) => change({ state: event.target.value === 'decided' ? 'decided' : '' })}
              >
                <option value="waiting">Waiting, oldest first</option>
                <option value="decided">Decided, newest first</option>
              </select>
            )}
          </Field>
        </div>
        <List
          list={list}
          more={state === 'waiting' ? 'Show newer' : 'Show older'}
          empty={<Empty title={state === 'waiting' ? 'No refund waits' : 'None was decided yet'} />}
        >
          {(rows) => <Rows rows={rows} ask={ask} />}
        </List>
      </Card>
      {asking ? (
        <ReasonDialog
          deed={asking}
          refresh={['/v1/admin/refunds', '/v1/admin/accounts', '/v1/admin/audit-log', 'balance']}
          onClose={() => setAsking(undefined)}
          onDone={setSaid}
        />
      ) : null}
    </>
  )
}

function Rows({ rows, ask }: { rows: readonly Refund[]; ask: (deed: Deed) => void }) {
  return (
    <Table
      caption="Refunds in review"
      columns={['Asked', 'Account', 'Call', { number: 'Amount' }, 'Reason', 'Why it is not known', 'Decision']}
    >
      {rows.map((row) => (
        <tr key={row.id}>
          <td>
            <Time at={row.created_at} />
          </td>
          <td>
            <Link to="/console/operator/accounts/$id" params={{ id: String(row.account_id) }}>
              {row.account_id}
            </Link>
          </td>
          <td>{row.call_id}</td>
          <td className="number">
            <Credits micro={row.amount_micro} />
          </td>
          <td>{row.reason}</td>
          <td>{row.note}</td>
          <td>
            {row.decided_by === null ? (
              <span className="row">
                <Button small kind="primary" aria-label={`Approve refund ${row.id}`} onClick={() => ask(approve(row))}>
                  Approve
                </Button>
                <Button small kind="danger" aria-label={`Reject refund ${row.id}`} onClick={() => ask(reject(row))}>
                  Reject
                </Button>
              </span>
            ) : (
              <Decided refund={row} />
            )}
          </td>
        </tr>
      ))}
    </Table>
  )
}

function Decided({ refund }: { refund: Refund }) {
  const { words, tone } = states[refund.status]
  return (
    <>
      <Badge tone={tone}>{words}</Badge>
      <div className="quiet small">
        {refund.decided_by}, <Time at={refund.decided_at} />: {refund.decision_reason}
      </div>
    </>
  )
}

const approve = (refund: Refund): Deed => ({
  title: `Approve refund ${refund.id}`,
  means: `${fromMicro(refund.amount_micro)} Credits go to account ${refund.account_id}, which made call ${refund.call_id}. They never expire. The decision stands.`,
  verb: `Give ${fromMicro(refund.amount_micro)} Credits back`,
  path: `/v1/admin/refunds/${refund.id}/approve`,
  done: `Refund ${refund.id} is approved: ${fromMicro(refund.amount_micro)} Credits went to account ${refund.account_id}.`,
})

const reject = (refund: Refund): Deed => ({
  title: `Reject refund ${refund.id}`,
  means: `Account ${refund.account_id} gets nothing back for call ${refund.call_id}. The decision stands.`,
  verb: 'Reject the refund',
  danger: true,
  path: `/v1/admin/refunds/${refund.id}/reject`,
  done: `Refund ${refund.id} is rejected: nothing was given back.`,
})
