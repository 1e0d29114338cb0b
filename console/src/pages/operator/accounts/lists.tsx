import { Link } from '@tanstack/react-router'
import { fromMicro } from '../../../ui/format.ts'
import { Badge, Button, Card, Copyable, Credits, Empty, Table, Time } from '../../../ui/parts.tsx'
import type { Deed } from '../reason-dialog.tsx'
import type { FullAccount } from './account.tsx'
import { keyDeed } from './deeds.tsx'
import { spends } from './words.ts'

const keyTones = { active: 'good', revoked: 'bad', expired: 'neutral' } as const

/** Its API keys: what they begin and end with, never more. */
export function Keys({ full, ask }: { full: FullAccount; ask: (deed: Deed) => void }) {
  return (
    <Card title="API keys">
      {full.keys.length === 0 ? (
        <Empty title="It has no key" />
      ) : (
        <Table caption="Its API keys" columns={['Key', 'Name', 'State', 'Last used', 'Created', 'Actions']}>
          {full.keys.map((key) => (
            <tr key={key.id}>
              <td>
                <code>
                  {key.prefix}…{key.last4}
                </code>
              </td>
              <td>{key.name || <span className="quiet">No name</span>}</td>
              <td>
                <Badge tone={keyTones[key.status]}>{key.status}</Badge>
              </td>
              <td>
                {key.last_used_at ? <Time at={key.last_used_at} relative /> : <span className="quiet">Never</span>}
              </td>
              <td>
                <Time at={key.created_at} />
              </td>
              <td>
                {key.status === 'active' ? (
                  <Button
                    small
                    kind="danger"
                    aria-label={`Revoke ${key.name || key.last4}`}
                    onClick={() => ask(keyDeed(full.account.id, key))}
                  >
                    Revoke
                  </Button>
                ) : (
                  <span className="quiet">–</span>
                )}
              </td>
            </tr>
          ))}
        </Table>
      )}
    </Card>
  )
}

/** The Agents that it pays for. */
export function Agents({ full: { agents } }: { full: FullAccount }) {
  if (agents.length === 0) return null
  return (
    <Card title="Agents">
      <Table caption="Its Agents" columns={['Account', 'Spends', 'Funding']}>
        {agents.map((agent) => (
          <tr key={agent.account_id}>
            <td>
              <Link to="/console/operator/accounts/$id" params={{ id: String(agent.account_id) }}>
                {agent.account_id}
              </Link>
            </td>
            <td>{spends[agent.billing_mode]}</td>
            <td>{agent.funding_paused ? <Badge tone="warn">Paused</Badge> : <Badge tone="good">On</Badge>}</td>
          </tr>
        ))}
      </Table>
    </Card>
  )
}

const callTones = {
  running: 'accent',
  success: 'good',
  failed: 'bad',
  usage_unknown: 'warn',
  pending_settlement: 'warn',
} as const

/** What it called lately, or paid for. */
export function Calls({ full: { calls } }: { full: FullAccount }) {
  return (
    <Card title="Latest calls">
      {calls.length === 0 ? (
        <Empty title="It never called" />
      ) : (
        <Table
          caption="Its latest calls"
          columns={['Time', 'Call', 'By', 'Model', 'State', { number: 'Cost' }, 'Request']}
        >
          {calls.map((call) => (
            <tr key={call.call_id}>
              <td>
                <Time at={call.created_at} />
              </td>
              <td>{call.call_id}</td>
              <td>
                <Link to="/console/operator/accounts/$id" params={{ id: String(call.account_id) }}>
                  {call.account_id}
                </Link>
              </td>
              <td>{call.model}</td>
              <td>
                <Badge tone={callTones[call.status]}>{call.status.replaceAll('_', ' ')}</Badge>
              </td>
              <td className="number">
                {call.actual_micro === null ? (
                  <>
                    <Credits micro={call.reserve_micro} /> <span className="quiet">held</span>
                  </>
                ) : (
                  <Credits micro={call.actual_micro} />
                )}
              </td>
              <td>
                <Copyable text={call.call_request_id} what={`request id of call ${call.call_id}`} />
              </td>
            </tr>
          ))}
        </Table>
      )}
    </Card>
  )
}

/** What it bought lately with a wallet. */
export function Orders({ full: { orders } }: { full: FullAccount }) {
  if (orders.length === 0) return null
  return (
    <Card title="Latest orders">
      <Table
        caption="Its latest orders"
        columns={['Made', 'State', 'Credited to', { number: 'Payment' }, { number: 'Credits' }, 'Order']}
      >
        {orders.map((order) => (
          <tr key={order.id}>
            <td>
              <Time at={order.created_at} />
            </td>
            <td>
              <Badge>{order.status.replaceAll('_', ' ')}</Badge>
            </td>
            <td>{order.account_id}</td>
            <td className="number">
              {fromMicro(order.amount_micro)} <span className="unit">{order.asset_id}</span>
            </td>
            <td className="number">
              <Credits micro={order.credit_micro} />
            </td>
            <td>
              <Copyable text={order.id} what="order id" />
            </td>
          </tr>
        ))}
      </Table>
    </Card>
  )
}
