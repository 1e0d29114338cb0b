import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { ago, count, fromMicro } from '../../../ui/format.ts'
import { Card } from '../../../ui/parts.tsx'
import { type Overview, type Standing, StandingBadge } from './standing.tsx'

interface Row {
  readonly what: ReactNode
  readonly state: Standing
  readonly detail: string
}

const UNREAD = 'It could not be read: the log of the server has the reason.'

/** Everything that waits for somebody, worst first. */
export function Waiting({ all }: { all: Overview }) {
  const order: readonly Standing[] = ['alarm', 'warning', 'unknown', 'ok']
  const rows = [reviews(all), ...holds(all), tasks(all), webhooks(all), audit(all), configuration(all)].toSorted(
    (one, other) => order.indexOf(one.state) - order.indexOf(other.state),
  )
  return (
    <Card title="What needs you">
      <ul className="waits">
        {rows.map((row, place) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: rows hold nothing of their own
          <li key={place}>
            <strong>{row.what}</strong>
            <span>
              <StandingBadge state={row.state} />
            </span>
            <span>{row.detail}</span>
          </li>
        ))}
      </ul>
    </Card>
  )
}

function reviews({ reviews: part }: Overview): Row {
  const what = <Link to="/console/operator/reviews">Payments in review</Link>
  if (!part) return { what, state: 'unknown', detail: UNREAD }
  const number = part.orders + part.transfers + part.native + part.x402
  if (number === 0) return { what, state: part.state, detail: 'None waits.' }
  const kinds = [
    part.orders > 0 ? [some(part.orders, 'order')] : [],
    part.transfers > 0 ? [some(part.transfers, 'transfer without an order', 'transfers without an order')] : [],
    part.native > 0 ? [some(part.native, 'native payment')] : [],
    part.x402 > 0 ? [some(part.x402, 'x402 payment')] : [],
  ].flat()
  return { what, state: part.state, detail: `${kinds.join(', ')}; the oldest came ${sinceWhen(part.oldest_at)}.` }
}

function holds({ holds: part }: Overview): Row[] {
  const unknown = <Link to="/console/operator/holds">Calls of unknown cost</Link>
  const short = (
    <Link to="/console/operator/holds" search={{ flag: 'shortfall' }}>
      Calls above their hold
    </Link>
  )
  if (!part) return [{ what: unknown, state: 'unknown', detail: UNREAD }]
  return (['usage_unknown', 'shortfall'] as const).map((flag) => {
    const found = part.list.find((row) => row.flag === flag)
    const what = flag === 'usage_unknown' ? unknown : short
    if (!found) return { what, state: 'ok', detail: 'None waits.' }
    const whose = flag === 'usage_unknown' ? 'They wait for you' : 'They wait for their payers'
    return {
      what,
      state: found.state,
      detail: `${some(found.holds, 'call')}, ${fromMicro(found.held_micro)} Credits held; the oldest was made ${sinceWhen(found.oldest_at)}. ${whose}.`,
    }
  })
}

function tasks({ tasks: part }: Overview): Row {
  if (!part) return { what: 'Tasks', state: 'unknown', detail: UNREAD }
  const late = part.overdue_since ? ` The first that nobody works on was due ${ago(part.overdue_since)}.` : ''
  return {
    what: 'Tasks',
    state: part.state,
    detail: `${some(part.open, 'task')} not done, ${count(part.being_worked_on)} of them being worked on.${late}`,
  }
}

function webhooks({ webhooks: part }: Overview): Row {
  if (!part) return { what: 'Webhooks', state: 'unknown', detail: UNREAD }
  const late = part.due_since ? ` The oldest was due ${ago(part.due_since)}.` : ''
  return {
    what: 'Webhooks',
    state: part.state,
    detail: `${some(part.deliveries, 'delivery', 'deliveries')} waiting. ${some(part.failing, 'receiver')} failing, ${count(part.disabled)} given up.${late}`,
  }
}

function audit({ audit: part }: Overview): Row {
  if (!part) return { what: 'Ledger audit', state: 'unknown', detail: UNREAD }
  const found =
    part.findings === null
      ? 'This process has not looked yet.'
      : part.findings === 0
        ? 'No difference.'
        : `${some(part.findings, 'difference')}: run farebox audit.`
  return { what: 'Ledger audit', state: part.state, detail: `${found} Audited up to ${ago(part.as_of)}.` }
}

function configuration({ server }: Overview): Row {
  const { refused, drifted } = server.configuration
  const what = <Link to="/console/operator/prices">Server and prices</Link>
  const trouble = [
    ...(server.ledger_ok ? [] : ['The database does not take what the ledger writes.']),
    ...(refused === null ? [] : [`The configuration file was ${refused}.`]),
    ...(drifted.length === 0 ? [] : [`Blocked, because they differ from what was frozen: ${drifted.join(', ')}.`]),
  ]
  return { what, state: server.state, detail: trouble.length === 0 ? 'In order.' : trouble.join(' ') }
}

const some = (number: number, one: string, many = `${one}s`): string => `${count(number)} ${number === 1 ? one : many}`

const sinceWhen = (at: string | null): string => (at === null ? 'just now' : ago(at))
