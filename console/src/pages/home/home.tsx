import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { api } from '../../api/client.ts'
import type { Reply } from '../../api/types.ts'
import { bucketName } from '../../ui/format.ts'
import { Badge, ButtonLink, Card, CodeBlock, Credits, Notice, PageHead, Table, Time } from '../../ui/parts.tsx'
import { Answer, Failure } from '../../ui/query.tsx'
import { orderStates } from '../pay/states.ts'
import { Checklist } from './checklist.tsx'
import { Pace } from './pace.tsx'
import { WaitingSettlements } from './waiting.tsx'

type Balance = Reply<'/v1/credits/balance', 'get'>

/** Below this, the next calls may be refused. */
const LOW_MICRO = 1_000_000

/** What there is to spend, how fast it goes, and what wants attention. */
export function Home() {
  const balance = useQuery({
    queryKey: ['balance'],
    queryFn: ({ signal }) => api<Balance>('/v1/credits/balance', { signal }),
  })
  return (
    <>
      <PageHead
        title="Home"
        actions={
          <ButtonLink to="/topup" kind="primary">
            Buy Credits
          </ButtonLink>
        }
      >
        Your Credits, and what is being spent.
      </PageHead>
      <Answer query={balance} lines={6}>
        {(data) => (
          <>
            <Checklist hasCredits={data.balance_micro > 0} />
            {data.available_micro < LOW_MICRO && data.balance_micro > 0 ? (
              <Notice tone="warn" title="Your Credits are running out">
                <p>Calls are refused once they are used up. Buying takes about a minute.</p>
              </Notice>
            ) : null}
            <OpenOrders />
            <WaitingSettlements />
            <Figures data={data} />
            {data.budget ? <BindingBudget budget={data.budget} /> : null}
            <Pace availableMicro={data.available_micro} />
            <Buckets data={data} />
          </>
        )}
      </Answer>
      <Card title="A call, from a terminal">
        <CodeBlock what="a first call" text={firstCall()} />
      </Card>
    </>
  )
}

const firstCall = (): string => `curl -s ${location.origin}/v1/chat/completions \\
  -H "authorization: Bearer $FAREBOX_API_KEY" \\
  -H 'content-type: application/json' \\
  -d '{"model":"demo-chat","messages":[{"role":"user","content":"hello"}]}'`

function Figures({ data }: { data: Balance }) {
  const figures = [
    ['Available', data.available_micro],
    ['Held for calls that are not settled', data.held_micro],
    ['Balance', data.balance_micro],
  ] as const
  return (
    <dl className="grid-cards">
      {figures.map(([label, micro]) => (
        <div className="card figure" key={label}>
          <dt>{label}</dt>
          <dd>
            <Credits micro={micro} />
          </dd>
        </div>
      ))}
    </dl>
  )
}

const windows = { per_call: 'for a call', daily: 'for today', monthly: 'for this month', total: 'in all' } as const

function BindingBudget({ budget }: { budget: NonNullable<Balance['budget']> }) {
  return (
    <Notice
      tone="neutral"
      title={budget.scope === 'link' ? 'Your owner’s budget binds' : 'The budget of this key binds'}
    >
      <p>
        <Credits micro={budget.remaining_micro} /> of <Credits micro={budget.limit_micro} /> are left{' '}
        {windows[budget.limit]}
        {budget.resets_at ? (
          <>
            , renewed <Time at={budget.resets_at} relative />
          </>
        ) : null}
        .
      </p>
    </Notice>
  )
}

/** Payments that are on their way, or wait for somebody. */
function OpenOrders() {
  const orders = useQuery({
    queryKey: ['orders'],
    queryFn: ({ signal }) => api<Reply<'/v1/payments/orders', 'get'>>('/v1/payments/orders', { signal }),
    refetchInterval: 10_000,
  })
  if (!orders.data) return <Failure query={orders} />
  const open = orders.data.data.filter(({ status }) => status === 'confirming' || status === 'review_required')
  if (open.length === 0) return null
  return (
    <Notice
      tone="neutral"
      title={open.length === 1 ? 'One payment is on its way' : `${open.length} payments are on their way`}
    >
      {open.slice(0, 5).map((order) => (
        <p key={order.id}>
          <Link to="/topup/$order" params={{ order: order.id }}>
            <Credits micro={order.credit_micro} /> for {order.account_label}
          </Link>{' '}
          <Badge tone={orderStates[order.status].tone}>{orderStates[order.status].words}</Badge>
        </p>
      ))}
    </Notice>
  )
}

function Buckets({ data }: { data: Balance }) {
  if (data.buckets.length === 0) return null
  return (
    <Card title="What you have, in the order of use">
      <Table
        caption="Buckets in the order of use"
        columns={['Kind', 'Ends', { number: 'Held' }, { number: 'Available' }]}
      >
        {data.buckets.map((bucket) => (
          <tr key={`${bucket.kind} ${bucket.expires_at}`}>
            <td>
              <Badge>{bucketName(bucket.kind)}</Badge>
            </td>
            <td>{bucket.expires_at ? <Time at={bucket.expires_at} /> : <span className="quiet">Never</span>}</td>
            <td className="number">
              <Credits micro={bucket.held_micro} />
            </td>
            <td className="number">
              <Credits micro={bucket.available_micro} />
            </td>
          </tr>
        ))}
      </Table>
    </Card>
  )
}
