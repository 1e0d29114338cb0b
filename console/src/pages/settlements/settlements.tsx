import { useState } from 'react'
import type { Reply } from '../../api/types.ts'
import { useSession } from '../../session/use-session.ts'
import { List, useList } from '../../ui/list.tsx'
import { Badge, Button, Card, Copyable, Credits, Empty, Field, Notice, PageHead } from '../../ui/parts.tsx'
import { useFilters } from '../../ui/search.ts'
import { AuthorizeDialog } from './authorize-dialog.tsx'

/** A call whose cost went above its hold, or is not known. */
export type Settlement = Reply<'/v1/credits/settlements', 'get'>['data'][number]

const states = {
  pending_settlement: { words: 'Waits to be authorized', tone: 'warn' },
  usage_unknown: { words: 'Cost unknown', tone: 'warn' },
  settled: { words: 'Settled', tone: 'good' },
  released: { words: 'Released, nothing charged', tone: 'neutral' },
} as const

/** What waits for a decision about money: whose call it was, what it cost, who pays. */
export function Settlements() {
  const [filters, change] = useFilters()
  const all = filters.state === 'all'
  const list = useList<Settlement>('/v1/credits/settlements', all ? { state: 'all' } : {})
  const [asking, setAsking] = useState<Settlement>()
  return (
    <>
      <PageHead title="Settlements">
        Calls that cost more than was held for them, or whose cost is not known. Their hold stays until it is decided.
      </PageHead>
      <div className="filter">
        <Field label="Show">
          {(ids) => (
            <select
              {...ids}
              className="input"
              value={all ? 'all' : ''}
              onChange={(event) => change({ state: event.target.value })}
            >
              <option value="">What waits</option>
              <option value="all">Also what has ended</option>
            </select>
          )}
        </Field>
      </div>
      <List
        list={list}
        empty={
          <Card>
            <Empty title="Nothing waiting">
              <p>Most calls settle by themselves: their worst case is held, and what is left over comes back.</p>
            </Empty>
          </Card>
        }
      >
        {(items) => items.map((item) => <Item key={item.request_id} item={item} onAuthorize={() => setAsking(item)} />)}
      </List>
      {asking ? <AuthorizeDialog item={asking} onClose={() => setAsking(undefined)} /> : null}
    </>
  )
}

function Item({ item, onAuthorize }: { item: Settlement; onAuthorize: () => void }) {
  const { words, tone } = states[item.billing_state]
  const session = useSession()
  const own = session.status === 'signed-in' ? session.account.id : undefined
  const unknown = item.billing_state === 'usage_unknown'
  return (
    <Card
      repeated
      title={own === item.actor_account_id ? 'A call of yours' : `A call of account ${item.actor_account_id}`}
      actions={
        <span className="row">
          {item.historical_owner ? <Badge>Former owner</Badge> : null}
          {item.payment_review_required ? <Badge tone="warn">Review required</Badge> : null}
          <Badge tone={tone}>{words}</Badge>
        </span>
      }
    >
      {unknown ? (
        <Notice tone="warn" title="Cost unknown, not free">
          <p>It cannot be authorized: only the operator can end it. Quote the request id to support.</p>
        </Notice>
      ) : null}
      <dl className="facts">
        <dt>Request</dt>
        <dd>
          <Copyable text={item.request_id} what="request id" whole />
        </dd>
        <dt>Held</dt>
        <dd>
          <Credits micro={item.reserve_amount_micro} />
        </dd>
        <dt>Cost</dt>
        <dd>{unknown ? 'Unknown' : <Credits micro={item.actual_amount_micro} />}</dd>
        {item.shortfall_micro > 0 ? (
          <>
            <dt>Above the hold</dt>
            <dd>
              <Credits micro={item.shortfall_micro} />
            </dd>
          </>
        ) : null}
        <Payers item={item} />
      </dl>
      {item.can_authorize ? (
        <div>
          <Button kind="primary" onClick={onAuthorize}>
            Authorize
          </Button>
        </div>
      ) : item.billing_state === 'pending_settlement' ? (
        <WhyNot item={item} />
      ) : null}
    </Card>
  )
}

/** Who holds what for the call, for owners: an Agent knows of itself alone. */
function Payers({ item }: { item: Settlement }) {
  const state = useSession()
  if (state.status !== 'signed-in' || state.account.account_type !== 'owner') return null
  const waits = item.billing_state === 'pending_settlement'
  return item.funding_accounts.map((payer) => (
    <div key={payer.account_id} className="contents">
      <dt>{payer.account_id === state.account.id ? 'You pay from' : 'Paid from'}</dt>
      <dd>
        account {payer.account_id}: <Credits micro={payer.reserved_amount_micro} /> held
        {waits && payer.supplemental_allowed ? (
          <span className="quiet">
            , <Credits micro={payer.available_amount_micro} /> more available
          </span>
        ) : null}
      </dd>
    </div>
  ))
}

function WhyNot({ item }: { item: Settlement }) {
  const available = item.funding_accounts.reduce((sum, payer) => sum + payer.available_amount_micro, 0)
  return (
    <p className="quiet">
      {available < item.shortfall_micro
        ? 'Whoever pays for it has too few Credits now. It can be authorized once they are there.'
        : 'This account cannot authorize it: the owner that pays a part of it can.'}
    </p>
  )
}
