import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import type { Reply } from '../../api/types.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { count } from '../../ui/format.ts'
import { Badge, Button, ButtonLink, Card, Credits, Empty, Field, PageHead, Table, Time } from '../../ui/parts.tsx'
import { Answer } from '../../ui/query.tsx'
import { useFilters } from '../../ui/search.ts'
import { FailedCalls } from './failed-calls.tsx'
import { refundStates } from './reasons.ts'
import { WentBack } from './went-back.tsx'

type Refunds = Reply<'/v1/refunds', 'get'>
type Refund = Refunds['refunds'][number]

const PER_PAGE = 20

/** Credits of failed calls that came back, and those that can. */
export function Refunds() {
  const [filters, change] = useFilters()
  const page = Math.max(1, Number(filters.page) || 1)
  const status = filters.status ?? ''
  const refunds = useQuery({
    queryKey: ['/v1/refunds', page, status],
    queryFn: ({ signal }) => {
      const query = new URLSearchParams({
        page: String(page),
        per_page: String(PER_PAGE),
        ...(status ? { status } : {}),
      })
      return api<Refunds>(`/v1/refunds?${query}`, { signal })
    },
  })
  return (
    <>
      <PageHead title="Refunds">
        A call that failed after something was charged is refunded once, as soon as you ask. Asking again gives the same
        refund.
      </PageHead>
      <FailedCalls />
      <Card title="Refunds so far">
        <div className="filter">
          <Field label="State">
            {(ids) => (
              <select
                {...ids}
                className="input"
                value={status}
                onChange={(event) => change({ status: event.target.value, page: '' })}
              >
                <option value="">All</option>
                {Object.entries(refundStates).map(([state, { words }]) => (
                  <option key={state} value={state}>
                    {words}
                  </option>
                ))}
              </select>
            )}
          </Field>
        </div>
        <Answer query={refunds} lines={5}>
          {(data) => (
            <>
              {data.refunds.length === 0 ? (
                <Empty title="No refunds here">
                  <p>Calls that failed and were charged have a button for it, here and in Requests.</p>
                  <ButtonLink to="/console/requests" search={{ status: 'failed' }}>
                    See failed calls
                  </ButtonLink>
                </Empty>
              ) : (
                <RefundTable refunds={data.refunds} />
              )}
              <Pages data={data} onPage={(next) => change({ page: next === 1 ? '' : String(next) })} />
            </>
          )}
        </Answer>
      </Card>
    </>
  )
}

function RefundTable({ refunds }: { refunds: readonly Refund[] }) {
  const [shown, setShown] = useState<Refund>()
  return (
    <>
      <Table caption="Refunds" columns={['Asked', 'Call', 'State', 'Reason', { number: 'Amount' }, 'Went back to']}>
        {refunds.map((refund) => (
          <tr key={refund.id}>
            <td>
              <Time at={refund.created_at} />
            </td>
            <td>{refund.call_id}</td>
            <td>
              <Badge tone={refundStates[refund.status].tone}>{refundStates[refund.status].words}</Badge>
            </td>
            <td>{refund.reason}</td>
            <td className="number">
              <Credits micro={refund.amount_micro} />
            </td>
            <td>
              {refund.status === 'completed' ? (
                <Button
                  small
                  aria-label={`Show where refund ${refund.id} went back to`}
                  onClick={() => setShown(refund)}
                >
                  Show
                </Button>
              ) : (
                <span className="quiet">–</span>
              )}
            </td>
          </tr>
        ))}
      </Table>
      {shown ? (
        <Dialog
          open
          onOpenChange={(next) => (next ? undefined : setShown(undefined))}
          title={`Where refund ${shown.id} went`}
        >
          <WentBack callId={shown.call_id} />
          <footer>
            <Button onClick={() => setShown(undefined)}>Close</Button>
          </footer>
        </Dialog>
      ) : null}
    </>
  )
}

function Pages({ data, onPage }: { data: Refunds; onPage: (page: number) => void }) {
  const last = Math.max(1, Math.ceil(data.total / data.per_page))
  if (last === 1 && data.page === 1) return null
  return (
    <nav className="row" aria-label="Pages of refunds">
      <Button small disabled={data.page <= 1} onClick={() => onPage(Math.min(data.page - 1, last))}>
        Newer
      </Button>
      <span className="small quiet">
        Page {data.page} of {last}, {count(data.total)} refunds
      </span>
      <Button small disabled={data.page >= last} onClick={() => onPage(data.page + 1)}>
        Older
      </Button>
    </nav>
  )
}
