import { useState } from 'react'
import type { Reply } from '../api/types.ts'
import { useSession } from '../session/use-session.ts'
import { Choice, statesAsOptions } from '../ui/choice.tsx'
import { count } from '../ui/format.ts'
import { List, useList } from '../ui/list.tsx'
import { Badge, Card, Copyable, Credits, Empty, PageHead, Table, Time } from '../ui/parts.tsx'
import { useFilters } from '../ui/search.ts'
import { TextFilter } from '../ui/text-filter.tsx'
import { RefundOf } from './refunds/failed-calls.tsx'
import { RefundDialog } from './refunds/refund-dialog.tsx'

type Call = Reply<'/v1/calls', 'get'>['data'][number]

const states = {
  running: { words: 'Running', tone: 'accent' },
  success: { words: 'Success', tone: 'good' },
  failed: { words: 'Failed', tone: 'bad' },
  usage_unknown: { words: 'Cost unknown', tone: 'warn' },
  pending_settlement: { words: 'To be settled', tone: 'warn' },
} as const

/** Every call that this account made or paid for: what it was and what it cost, never what was said. */
export function Requests() {
  const [filters, change] = useFilters()
  const search = Object.fromEntries(
    Object.entries(filters).filter(([name]) => ['status', 'model', 'request_id'].includes(name)),
  )
  const list = useList<Call>('/v1/calls', search)
  const [refunding, setRefunding] = useState<Call>()
  return (
    <>
      <PageHead title="Requests">
        Each call with its cost and the id to name when you ask about it. What is said in a chat is never kept.
      </PageHead>
      <Card>
        <div className="grid-cards">
          <Choice
            label="State"
            value={filters.status ?? ''}
            onChange={(status) => change({ status })}
            options={statesAsOptions(states)}
          />
          <TextFilter label="Model" value={filters.model} onChange={(model) => change({ model })} />
          <TextFilter label="Request id" value={filters.request_id} onChange={(id) => change({ request_id: id })} />
        </div>
      </Card>
      <Card>
        <List list={list} empty={<Empty title="No calls here">Change the filters, or make a first call.</Empty>}>
          {(calls) => (
            <Table
              caption="Calls"
              columns={['Time', 'Model', 'State', { number: 'Tokens' }, { number: 'Charged' }, 'Account', 'Request']}
            >
              {calls.map((call) => (
                <CallRow key={call.call_id} call={call} onRefund={() => setRefunding(call)} />
              ))}
            </Table>
          )}
        </List>
      </Card>
      {refunding ? <RefundDialog call={refunding} onClose={() => setRefunding(undefined)} /> : null}
    </>
  )
}

/** From the hold to the end, as people say it. */
function took(from: string, until: string): string {
  const ms = Date.parse(until) - Date.parse(from)
  return ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(1)} s`
}

function CallRow({ call, onRefund }: { call: Call; onRefund: () => void }) {
  const { words, tone } = states[call.status]
  const session = useSession()
  const own = session.status === 'signed-in' ? session.account.id : undefined
  const usage = call.usage as { input_tokens?: number; output_tokens?: number } | null
  return (
    <tr>
      <td>
        <Time at={call.created_at} />
        {call.resolved_at && call.outcome !== null ? (
          <div className="small quiet">took {took(call.created_at, call.resolved_at)}</div>
        ) : null}
      </td>
      <td>
        <span className="nowrap">{call.model}</span>
        {call.category === 'chat' ? null : <div className="quiet small">{call.category}</div>}
      </td>
      <td>
        <span className="stack-tight">
          <span>
            <Badge tone={tone}>{words}</Badge>
          </span>
          {call.status === 'failed' && call.charged_micro > 0 ? (
            <span className="small">
              <RefundOf call={call} onAsk={onRefund} />
            </span>
          ) : null}
        </span>
      </td>
      <td className="number">
        {usage?.input_tokens === undefined ? (
          <span className="quiet">–</span>
        ) : (
          `${count(usage.input_tokens)} in, ${count(usage.output_tokens ?? 0)} out`
        )}
      </td>
      <td className="number">
        {call.actual_amount_micro === null || call.status === 'pending_settlement' ? (
          <span className="quiet">
            <Credits micro={call.reserve_amount_micro} /> held
          </span>
        ) : (
          <Credits micro={call.charged_micro} />
        )}
      </td>
      <td>
        <span className="nowrap">{call.actor_account_id === own ? 'Yours' : `Account ${call.actor_account_id}`}</span>
        <div className="small quiet">{call.key_id === null ? 'session' : `key ${call.key_id}`}</div>
      </td>
      <td>
        <Copyable text={call.request_id} what="request id" />
      </td>
    </tr>
  )
}
