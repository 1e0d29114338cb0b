import { useQuery } from '@tanstack/react-query'
import { api } from '../../api/client.ts'
import type { Reply } from '../../api/types.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { Button, CodeBlock, Copyable, Table, Time } from '../../ui/parts.tsx'
import { Answer } from '../../ui/query.tsx'
import type { Delivery } from './deliveries.tsx'
import { DELIVERIES } from './endpoint.ts'

type Detail = Reply<'/v1/me/webhooks/deliveries/{id}', 'get'>['data']

/** What is sent, and every attempt with its answer. */
export function DeliveryDialog({ delivery, onClose }: { delivery: Delivery; onClose: () => void }) {
  const detail = useQuery({
    queryKey: [DELIVERIES, delivery.id],
    queryFn: ({ signal }) =>
      api<Reply<'/v1/me/webhooks/deliveries/{id}', 'get'>>(`${DELIVERIES}/${delivery.id}`, { signal }),
  })
  return (
    <Dialog open onOpenChange={(next) => (next ? undefined : onClose())} title={`Delivery ${delivery.id}`}>
      <dl className="facts">
        <dt>To</dt>
        <dd>{delivery.url}</dd>
        <dt>webhook-id</dt>
        <dd>
          <Copyable text={delivery.webhook_id} what="webhook-id" />
        </dd>
      </dl>
      <Answer query={detail} lines={4}>
        {({ data }) => (
          <>
            <CodeBlock text={JSON.stringify(data.body, null, 2)} what="what is sent" />
            {data.attempt_log.length > 0 ? (
              <Attempts log={data.attempt_log} />
            ) : (
              <p className="quiet">Not tried yet.</p>
            )}
          </>
        )}
      </Answer>
      <footer>
        <Button onClick={onClose}>Close</Button>
      </footer>
    </Dialog>
  )
}

function Attempts({ log }: { log: Detail['attempt_log'] }) {
  return (
    <Table caption="Attempts" columns={['Attempt', 'Answer', { number: 'Took' }]}>
      {log.map((attempt) => (
        <tr key={attempt.n}>
          <td>
            {attempt.n}, <Time at={attempt.at} />
          </td>
          <td>
            {attempt.status ?? attempt.outcome} <span className="small quiet">{attempt.answer}</span>
          </td>
          <td className="number">{attempt.duration_ms} ms</td>
        </tr>
      ))}
    </Table>
  )
}
