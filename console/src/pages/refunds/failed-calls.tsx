import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import type { Reply } from '../../api/types.ts'
import { Button, Card, Credits, Table, Time } from '../../ui/parts.tsx'
import { whyNot } from './reasons.ts'
import { RefundDialog } from './refund-dialog.tsx'

type Calls = Reply<'/v1/calls', 'get'>
type Call = Calls['data'][number]

/** The latest calls that failed: which can be refunded, and why the others cannot. */
export function FailedCalls() {
  const calls = useQuery({
    queryKey: ['/v1/calls', 'failed'],
    queryFn: ({ signal }) => api<Calls>('/v1/calls?status=failed&limit=10', { signal }),
  })
  const [asking, setAsking] = useState<Call>()
  const open = calls.data?.data.filter((call) => call.refund_id === null) ?? []
  return (
    <>
      {open.length === 0 ? null : (
        <Card title="Calls that failed lately">
          <Table caption="Failed calls" columns={['Time', 'Call', 'Model', { number: 'Charged' }, 'Refund']}>
            {open.map((call) => (
              <tr key={call.call_id}>
                <td>
                  <Time at={call.created_at} />
                </td>
                <td>{call.call_id}</td>
                <td>{call.model}</td>
                <td className="number">
                  <Credits micro={call.charged_micro} />
                </td>
                <td>
                  <RefundOf call={call} onAsk={() => setAsking(call)} />
                </td>
              </tr>
            ))}
          </Table>
        </Card>
      )}
      {asking ? <RefundDialog call={asking} onClose={() => setAsking(undefined)} /> : null}
    </>
  )
}

/** The button that asks for a call's refund, or why there is none. */
export function RefundOf({ call, onAsk }: { call: Call; onAsk: () => void }) {
  if (call.refundable)
    return (
      <Button small aria-label={`Refund call ${call.call_id}`} onClick={onAsk}>
        Refund
      </Button>
    )
  if (call.status !== 'failed') return <span className="quiet">–</span>
  return <span className="quiet">{whyNot[call.refund_reason_not ?? ''] ?? call.refund_reason_not}</span>
}
