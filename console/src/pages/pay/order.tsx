import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { api } from '../../api/client.ts'
import type { Reply } from '../../api/types.ts'
import { fromMicro } from '../../ui/format.ts'
import { Badge, ButtonLink, Card, Copyable, Credits, Notice, PageHead, Time } from '../../ui/parts.tsx'
import { QrCode } from '../../ui/qr-code.tsx'
import { Answer } from '../../ui/query.tsx'
import { SupportContact } from '../../ui/support.tsx'
import { Countdown } from './countdown.tsx'
import { HashForm, ResumeButton } from './recovery.tsx'
import { type Local, type Order, orderStates, pollEvery, type View, viewOf } from './states.ts'
import { WalletPayment } from './wallet-payment.tsx'

/** One order, live: on any device, in any tab, it shows what the server knows. */
export function OrderPage() {
  const { order: id } = useParams({ strict: false }) as { order: string }
  const queries = useQueryClient()
  const [local, setLocal] = useState<Local>('idle')
  const order = useQuery({
    queryKey: ['order', id],
    queryFn: ({ signal }) =>
      api<Reply<'/v1/payments/orders/{id}', 'get'>>(`/v1/payments/orders/${encodeURIComponent(id)}`, { signal }),
    refetchInterval: ({ state }) => (state.data ? pollEvery(viewOf(state.data.data, local)) : false),
  })
  const done = order.data?.data.status === 'completed'
  useEffect(() => {
    if (done) void queries.invalidateQueries({ queryKey: ['balance'] })
  }, [done, queries])
  return (
    <>
      <PageHead title="Order" actions={<ButtonLink to="/console/orders">All orders</ButtonLink>} />
      <Answer query={order} lines={8}>
        {({ data }) => (
          <div className="stack">
            <State order={data} local={local} setLocal={setLocal} refresh={async () => void (await order.refetch())} />
            <Facts order={data} />
            <Timeline order={data} />
          </div>
        )}
      </Answer>
    </>
  )
}

interface StateProps {
  readonly order: Order
  readonly local: Local
  readonly setLocal: (local: Local) => void
  readonly refresh: () => Promise<void>
}

/** The headline and the one thing to do now. Changes are said aloud; seconds are not. */
function State(props: StateProps) {
  const view = viewOf(props.order, props.local)
  const { headline, tone } = headlines[view]
  const text = view === 'confirming' ? `Seen on chain: ${confirmations(props.order)}` : headline
  return (
    <Card>
      <div className="row-between">
        <div role="status" aria-live="polite">
          <h2>{text}</h2>
        </div>
        <Badge tone={tone}>{orderStates[props.order.status].words}</Badge>
      </div>
      <Body view={view} {...props} />
    </Card>
  )
}

const confirmations = ({ confirmations: have, required_confirmations: need }: Order): string =>
  `${Math.min(have, need)} of ${need} confirmations`

const headlines: Readonly<Record<View, { headline: string; tone: 'good' | 'warn' | 'bad' | 'accent' | 'neutral' }>> = {
  payable: { headline: 'Ready to be paid', tone: 'accent' },
  reserving: { headline: 'One moment', tone: 'accent' },
  'confirm-in-wallet': { headline: 'Confirm in your wallet', tone: 'accent' },
  'in-progress': { headline: 'A payment is in progress', tone: 'accent' },
  sent: { headline: 'Sent. Waiting to be seen on chain', tone: 'accent' },
  confirming: { headline: 'Seen on chain', tone: 'accent' },
  completed: { headline: 'Paid. Your Credits are there', tone: 'good' },
  expired: { headline: 'Not paid in time', tone: 'neutral' },
  review: { headline: 'Under review. Do not pay again', tone: 'warn' },
}

function Body({ view, order, local, setLocal, refresh }: StateProps & { view: View }): ReactNode {
  switch (view) {
    case 'payable':
      return (
        <>
          {local === 'declined' ? (
            <Notice tone="neutral">
              <p>You declined in the wallet. Nothing was sent.</p>
            </Notice>
          ) : null}
          <Countdown order={order} />
          <WalletPayment order={order} setLocal={setLocal} refresh={refresh} />
          <OtherDevice />
        </>
      )
    case 'reserving':
      return <p className="quiet">The order is being reserved for this payment.</p>
    case 'confirm-in-wallet':
      return <p>Do not start a second payment. If the wallet shows nothing, open it and look for the request.</p>
    case 'in-progress':
      return (
        <>
          <p>
            A wallet was asked to pay this order, here or in another tab or device, and it is not known whether it sent
            anything. <strong>Do not pay again.</strong> We watch the network: once the payment is seen, it is credited
            by itself.
          </p>
          <HashForm order={order} refresh={refresh} />
        </>
      )
    case 'sent':
      return <p>You can close this page. The server goes on watching.</p>
    case 'confirming':
      return (
        <>
          <progress max={order.required_confirmations} value={order.confirmations} aria-label="Confirmations" />
          <p>You can close this page. The server finishes by itself.</p>
        </>
      )
    case 'completed':
      return (
        <div className="row">
          <strong>
            <Credits micro={order.credit_micro} signed />
          </strong>
          <ButtonLink to="/console" kind="primary">
            Use them
          </ButtonLink>
        </div>
      )
    case 'expired':
      return (
        <>
          <p>
            <strong>Already sent it?</strong> Then do not pay again: the payment is found even now, and its hash finds
            it sooner.
          </p>
          <HashForm order={order} refresh={refresh} />
          <div className="row">
            <ResumeButton order={order} refresh={refresh} />
            <ButtonLink to="/topup">Make a new order</ButtonLink>
          </div>
        </>
      )
    case 'review':
      return (
        <>
          <p>{reasons[order.review?.reason ?? ''] ?? 'Something about the payment does not match the order.'}</p>
          <p>
            The operator looks at it and credits it, sends it back or dismisses it. Order{' '}
            <Copyable text={order.id} what="order id" whole />
          </p>
          <p>
            <SupportContact about={`Order ${order.id} is under review`} />
          </p>
        </>
      )
  }
}

const reasons: Readonly<Record<string, string>> = {
  amount_mismatch: 'The amount that arrived is not the amount of the order.',
  payer_mismatch: 'The payment came from another wallet than the one that the order names.',
  late_transfer: 'The payment arrived long after the order had ended.',
  not_direct: 'The payment did not come straight from the wallet: an exchange, a contract or a smart account sent it.',
  tx_already_used: 'This payment already bought Credits elsewhere.',
  wrong_chain: 'The payment was made on another network than the order’s.',
  old_recipient: 'The payment went to an address that is no longer used.',
  reorged_after_credit: 'The network took the payment back after it was credited.',
}

function OtherDevice() {
  const [shown, setShown] = useState(false)
  return (
    <details onToggle={(event) => setShown(event.currentTarget.open)}>
      <summary>Pay from another device</summary>
      <div className="row">
        {shown ? <QrCode text={location.href} /> : null}
        <div className="stack-tight">
          <p className="small quiet">Opens this page there: scan it, or copy its address.</p>
          <Copyable text={location.href} what="address of this page" />
        </div>
      </div>
    </details>
  )
}

/** What is paid, by whom, to whom and for what: always there, before anything is connected. */
function Facts({ order }: { order: Order }) {
  return (
    <Card title="The payment">
      <dl className="facts">
        <dt>Amount</dt>
        <dd>
          <strong>
            {fromMicro(order.amount_micro)} {order.token_symbol}
          </strong>{' '}
          on {order.network_name}
        </dd>
        <dt>Credited to</dt>
        <dd>
          {order.account_label}
          {order.account_label === `Account ${order.account_id}` ? null : (
            <span className="quiet"> (account {order.account_id})</span>
          )}
          : <Credits micro={order.credit_micro} />
        </dd>
        <dt>From</dt>
        <dd>
          <Copyable text={order.payer_address} what="payer address" />
        </dd>
        <dt>To</dt>
        <dd>
          <Copyable text={order.recipient_address} what="recipient address" />
        </dd>
        <dt>Token</dt>
        <dd>
          <Copyable text={order.token_address} what="token address" />
        </dd>
        <dt>Price</dt>
        <dd>
          {fromMicro(order.rate_ppm)} {order.token_symbol} for one Credit, kept for this order
        </dd>
        {order.tx_hash ? (
          <>
            <dt>Transaction</dt>
            <dd>
              <Copyable text={order.tx_hash} what="transaction hash" />{' '}
              {order.explorer_tx_url ? (
                <a href={order.explorer_tx_url} target="_blank" rel="noreferrer">
                  View in the explorer
                </a>
              ) : null}
            </dd>
          </>
        ) : null}
        <dt>Order</dt>
        <dd>
          <Copyable text={order.id} what="order id" />
        </dd>
      </dl>
    </Card>
  )
}

function Timeline({ order }: { order: Order }) {
  const events = order.events ?? []
  const list = useRef<HTMLOListElement>(null)
  if (events.length === 0) return null
  return (
    <Card title="What happened">
      <ol ref={list} className="timeline">
        {events.map((event) => (
          <li key={`${event.event} ${event.at}`}>
            <Time at={event.at} /> <span>{words[event.event] ?? event.event.replaceAll('_', ' ')}</span>
          </li>
        ))}
      </ol>
    </Card>
  )
}

const words: Readonly<Record<string, string>> = {
  create: 'The order was made',
  reserve: 'A wallet was asked to pay',
  reject: 'The wallet’s owner declined',
  resume: 'The order was extended by 30 minutes',
  register: 'A transaction hash was given',
  see: 'The payment was seen on chain',
  settle: 'The payment was confirmed and credited',
  suspect: 'Something about the payment does not match: the operator looks at it',
  fail: 'The transaction failed on chain: nothing was moved',
  replace: 'The wallet sent another transaction in its place',
  mismatch: 'The transaction is not this payment',
  abandon: 'Nothing was seen for a day: the attempt is over',
  orphan: 'The network took the block back: it is looked for again',
  undo: 'The network took the payment back after it was credited',
  restore: 'The payment is on chain again',
  operator_propose: 'The operator proposed what to do',
  operator_credit: 'The operator credited it',
  operator_refund: 'The operator sent it back',
  operator_dismiss: 'The operator closed the review',
  lapse: 'The order ended unpaid',
}
