import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import type { Reply } from '../../api/types.ts'
import { Choice, statesAsOptions } from '../../ui/choice.tsx'
import { List, useList } from '../../ui/list.tsx'
import { Badge, Button, Card, Empty, ErrorCard, Table, Time } from '../../ui/parts.tsx'
import { useFilters } from '../../ui/search.ts'
import { DeliveryDialog } from './delivery-dialog.tsx'
import { DELIVERIES, type Endpoint } from './endpoint.ts'

/** A message to an endpoint, and what became of it. */
export type Delivery = Reply<'/v1/me/webhooks/deliveries', 'get'>['data'][number]

const states = {
  pending: { words: 'Still tried', tone: 'accent' },
  delivered: { words: 'Delivered', tone: 'good' },
  failed: { words: 'Given up', tone: 'bad' },
  canceled: { words: 'Canceled', tone: 'neutral' },
} as const

/** The log of the last 30 days: what was sent, what came back, and the button that sends it again. */
export function Deliveries({ endpoints }: { endpoints: readonly Endpoint[] }) {
  const [filters, change] = useFilters()
  const search = Object.fromEntries(Object.entries(filters).filter(([name]) => ['state', 'endpoint_id'].includes(name)))
  const list = useList<Delivery>(DELIVERIES, search, { everyMs: 5_000 })
  return (
    <Card title="Deliveries of the last 30 days">
      <div className="grid-cards">
        <Choice
          label="State"
          value={filters.state ?? ''}
          onChange={(state) => change({ state })}
          options={statesAsOptions(states)}
        />
        <Choice
          label="Endpoint"
          value={filters.endpoint_id ?? ''}
          onChange={(endpoint_id) => change({ endpoint_id })}
          options={[
            ['', 'All, and the URLs of tasks'],
            ...endpoints.map(({ id, description, url }) => [String(id), description || url] as const),
          ]}
        />
      </div>
      <List list={list} empty={<Empty title="Nothing was sent">A test shows whether an endpoint listens.</Empty>}>
        {(rows) => <Log rows={rows} />}
      </List>
    </Card>
  )
}

function Log({ rows }: { rows: readonly Delivery[] }) {
  const queries = useQueryClient()
  const [shown, setShown] = useState<Delivery>()
  const replay = useMutation({
    mutationFn: (id: number) => api(`${DELIVERIES}/${id}/replay`, { method: 'POST', body: {} }),
    onSuccess: () => queries.invalidateQueries({ queryKey: [DELIVERIES] }),
  })
  return (
    <>
      {replay.error ? <ErrorCard error={replay.error} /> : null}
      <Table
        caption="Deliveries"
        columns={['Time', 'Event', 'State', 'Last answer', { number: 'Attempts' }, 'Actions']}
      >
        {rows.map((row) => (
          <tr key={row.id}>
            <td>
              <Time at={row.created_at} />
            </td>
            <td>
              <code>{row.event}</code>
            </td>
            <td>
              <Badge tone={states[row.state].tone}>{states[row.state].words}</Badge>
              {row.state === 'pending' && row.next_attempt_at && row.attempts > 0 ? (
                <span className="small quiet">
                  {' '}
                  again <Time at={row.next_attempt_at} relative />
                </span>
              ) : null}
            </td>
            <td>{row.last_status ?? row.last_outcome ?? <span className="quiet">–</span>}</td>
            <td className="number">{row.attempts}</td>
            <td>
              <span className="row">
                <Button small aria-label={`Show delivery ${row.id}`} onClick={() => setShown(row)}>
                  Show
                </Button>
                <Button
                  small
                  busy={replay.isPending && replay.variables === row.id}
                  aria-label={`Send again: delivery ${row.id}`}
                  onClick={() => replay.mutate(row.id)}
                >
                  Send again
                </Button>
              </span>
            </td>
          </tr>
        ))}
      </Table>
      {shown ? <DeliveryDialog delivery={shown} onClose={() => setShown(undefined)} /> : null}
    </>
  )
}
