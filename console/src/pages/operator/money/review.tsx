import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { api } from '../../../api/client.ts'
import type { Reply } from '../../../api/types.ts'
import { Badge, Button, ButtonLink, Card, Copyable, Credits, Notice, PageHead, Time } from '../../../ui/parts.tsx'
import { Answer } from '../../../ui/query.tsx'
import { AdminsOnly } from '../admins-only.tsx'
import { Said } from '../reason-dialog.tsx'
import { DecideDialog } from './decide-dialog.tsx'
import { happening } from './happenings.ts'
import { kinds } from './kinds.ts'
import { operatorName } from './operator-name.ts'
import '../operator.css'
import './money.css'

/** A payment with everything that an admin is shown of it. */
export type Review = Reply<'/v1/admin/reviews/{id}', 'get'>['data']

/** What may be done with a payment. */
export type Action = Review['actions'][number]['action']

const verbs: Readonly<Record<Action, string>> = {
  credit: 'Give Credits',
  refund: 'Record as sent back',
  dismiss: 'Dismiss',
}
const EVERY_MS = 15_000

/** One payment: what was asked for beside what the chain shows, and what may be done about it. */
export const OperatorReview = () => (
  <AdminsOnly>
    <Read />
  </AdminsOnly>
)

function Read() {
  const { id } = useParams({ strict: false }) as { id: string }
  const review = useQuery({
    queryKey: ['/v1/admin/reviews', 'one', id],
    queryFn: ({ signal }) =>
      api<Reply<'/v1/admin/reviews/{id}', 'get'>>(`/v1/admin/reviews/${encodeURIComponent(id)}`, { signal }),
    refetchInterval: EVERY_MS,
  })
  return (
    <>
      <PageHead
        title="A payment in review"
        actions={<ButtonLink to="/console/operator/reviews">All of them</ButtonLink>}
      >
        {review.data ? `${kinds[review.data.data.kind].one}: ${review.data.data.reason_in_words}` : undefined}
      </PageHead>
      <Answer query={review} lines={10}>
        {({ data }) => <Whole review={data} />}
      </Answer>
    </>
  )
}

function Whole({ review }: { review: Review }) {
  const [deciding, setDeciding] = useState<Action>()
  const [said, setSaid] = useState('')
  return (
    <>
      <Said text={said} />
      <Standing review={review} />
      <Card title="The facts">
        <div className="beside">
          <Asked review={review} />
          <Shown review={review} />
        </div>
        <dl className="facts">
          <dt>Payment</dt>
          <dd>
            <Copyable text={review.id} what="payment id" />
          </dd>
          <dt>Would credit</dt>
          <dd>
            {review.account === null ? (
              'nobody by itself: name the account'
            ) : (
              <Link to="/console/operator/accounts/$id" params={{ id: String(review.account.id) }}>
                account {review.account.id}
                {review.account.label ? `, ${review.account.label}` : ''}
              </Link>
            )}
          </dd>
          <dt>Is worth</dt>
          <dd>{review.worth_micro === null ? 'not known' : <Credits micro={review.worth_micro} />}</dd>
          <dt>Transaction</dt>
          <dd>
            <Copyable text={review.tx_hash ?? ''} what="transaction" />{' '}
            {review.explorer_tx_url ? (
              <a href={review.explorer_tx_url} target="_blank" rel="noreferrer">
                in the explorer
              </a>
            ) : null}
          </dd>
          <dt>Waits since</dt>
          <dd>
            <Time at={review.opened_at} /> (<Time at={review.opened_at} relative />)
          </dd>
          <dt>Status</dt>
          <dd>{review.status.replaceAll('_', ' ')}</dd>
        </dl>
      </Card>
      {review.waits ? (
        <Decision
          review={review}
          onDecide={(action) => {
            setSaid('')
            setDeciding(action)
          }}
        />
      ) : null}
      <History review={review} />
      {deciding ? (
        <DecideDialog review={review} action={deciding} onClose={() => setDeciding(undefined)} onDone={setSaid} />
      ) : null}
    </>
  )
}

/** What keeps a decision from being made, or what one of them started. */
function Standing({ review }: { review: Review }) {
  const { proposal, chain, waits } = review
  return (
    <>
      {waits ? null : <Notice tone="good" title="Nothing is to be decided here any more" />}
      {waits && !chain.healthy ? (
        <Notice tone="bad" title="The chain cannot be read now">
          <p>
            What is shown of it may be old ({chain.detail}). What depends on it cannot be decided until it is read
            again.
          </p>
        </Notice>
      ) : null}
      {waits && proposal ? (
        <Notice tone="warn" title="A decision waits for a second operator">
          <p>
            {operatorName(proposal.by)} proposed to {proposal.action}
            {proposal.credit_micro > 0 ? (
              <>
                {' '}
                <Credits micro={proposal.credit_micro} />
              </>
            ) : null}
            : {proposal.reason}. Somebody else has to decide the same before <Time at={proposal.until} />.
          </p>
        </Notice>
      ) : null}
      {waits && !proposal && review.takes_two ? (
        <Notice tone="neutral" title="This takes two">
          <p>It is worth more than one operator may decide alone: another one has to state the same within 24 hours.</p>
        </Notice>
      ) : null}
    </>
  )
}

function Asked({ review: { expected } }: { review: Review }) {
  if (!expected)
    return (
      <div>
        <h3>What was asked for</h3>
        <p>Nothing: no order or quote asked for it.</p>
      </div>
    )
  return (
    <div>
      <h3>What was asked for</h3>
      <dl className="facts">
        <dt>Amount</dt>
        <dd>
          {expected.amount} {expected.symbol}
        </dd>
        <dt>From</dt>
        <dd>
          <Copyable text={expected.from ?? ''} what="paying wallet" />
        </dd>
        <dt>To</dt>
        <dd>
          <Copyable text={expected.to} what="recipient" />
        </dd>
        <dt>For</dt>
        <dd>
          <Credits micro={expected.credit_micro} />
        </dd>
        <dt>Time</dt>
        <dd>
          <Time at={expected.made_at} /> to <Time at={expected.expires_at} />
        </dd>
      </dl>
    </div>
  )
}

function Shown({ review: { shown, network_name, chain } }: { review: Review }) {
  return (
    <div>
      <h3>What the chain shows</h3>
      {shown ? (
        <dl className="facts">
          <dt>Amount</dt>
          <dd>
            {shown.amount} {shown.symbol}
          </dd>
          <dt>From</dt>
          <dd>
            <Copyable text={shown.from} what="sender" />
          </dd>
          <dt>To</dt>
          <dd>
            <Copyable text={shown.to} what="receiver" />
          </dd>
          <dt>In</dt>
          <dd>
            block {shown.block} on {network_name}
          </dd>
          <dt>Time</dt>
          <dd>
            <Time at={shown.block_at} />
          </dd>
        </dl>
      ) : (
        <p>No payment on {network_name}, or none any more.</p>
      )}
      <p className="quiet small">
        Chain read <Time at={chain.as_of} relative />, {chain.detail}.
      </p>
    </div>
  )
}

function Decision({ review, onDecide }: { review: Review; onDecide: (action: Action) => void }) {
  const refused = review.actions.filter(({ possible }) => !possible)
  return (
    <Card title="Decide">
      {review.granted ? (
        <Notice tone="warn" title="Its Credits were given before">
          <p>
            Give Credits leaves them with the account. Without it what is still held of them
            {review.held_micro === null ? '' : ` (${review.held_micro / 1_000_000} Credits)`} is taken back.
          </p>
        </Notice>
      ) : null}
      {review.actions.length === 0 ? <p>It ends by itself when its transfer is back: nothing can be decided.</p> : null}
      <div className="row">
        {review.actions.map(({ action, possible }) => (
          <Button
            key={action}
            kind={action === 'credit' ? 'primary' : action === 'dismiss' ? 'danger' : 'ordinary'}
            disabled={!possible}
            onClick={() => onDecide(action)}
          >
            {verbs[action]}
          </Button>
        ))}
      </div>
      {refused[0]?.why_not ? <p className="quiet">{refused[0].why_not}</p> : null}
    </Card>
  )
}

function History({ review: { events } }: { review: Review }) {
  if (events.length === 0) return null
  return (
    <Card title="What happened">
      <ol className="timeline">
        {events.map((event) => (
          <li key={`${event.at} ${event.event}`}>
            <Time at={event.at} />
            <span>
              {happening(event.event)} <Badge>{event.status.replaceAll('_', ' ')}</Badge>{' '}
              <span className="quiet small">{event.by === null ? '' : operatorName(event.by)}</span>
            </span>
          </li>
        ))}
      </ol>
    </Card>
  )
}
