import { useMutation, useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { api } from '../../../api/client.ts'
import type { Reply } from '../../../api/types.ts'
import { count } from '../../../ui/format.ts'
import {
  Badge,
  Button,
  ButtonLink,
  Card,
  Copyable,
  Credits,
  ErrorCard,
  Notice,
  PageHead,
  Table,
  Time,
} from '../../../ui/parts.tsx'
import { Answer } from '../../../ui/query.tsx'
import { AdminsOnly } from '../admins-only.tsx'
import { Said } from '../reason-dialog.tsx'
import { holdStates, whyOf } from './holds.tsx'
import { operatorName } from './operator-name.ts'
import { ResolveDialog } from './resolve-dialog.tsx'
import '../operator.css'
import './money.css'

/** A hold with everything that an admin is shown of it. */
export type Hold = Reply<'/v1/admin/holds/{id}', 'get'>['data']
type Found = Reply<'/v1/admin/holds/{id}/lookup', 'post'>['data']

/** One hold: why it waits, who pays, what the provider's record says, and its end. */
export const OperatorHold = () => (
  <AdminsOnly>
    <Read />
  </AdminsOnly>
)

function Read() {
  const { id } = useParams({ strict: false }) as { id: string }
  const hold = useQuery({
    queryKey: ['/v1/admin/holds', 'one', id],
    queryFn: ({ signal }) =>
      api<Reply<'/v1/admin/holds/{id}', 'get'>>(`/v1/admin/holds/${encodeURIComponent(id)}`, { signal }),
  })
  return (
    <>
      <PageHead title={`Hold ${id}`} actions={<ButtonLink to="/console/operator/holds">All of them</ButtonLink>} />
      <Answer query={hold} lines={8}>
        {({ data }) => <Whole hold={data} />}
      </Answer>
    </>
  )
}

function Whole({ hold }: { hold: Hold }) {
  const [resolving, setResolving] = useState(false)
  const [said, setSaid] = useState('')
  const lookup = useMutation({
    mutationFn: () =>
      api<Reply<'/v1/admin/holds/{id}/lookup', 'post'>>(`/v1/admin/holds/${hold.id}/lookup`, {
        method: 'POST',
        body: {},
      }),
  })
  const found = lookup.data?.data
  return (
    <>
      <Said text={said} />
      <Facts hold={hold} />
      <Payers hold={hold} />
      {hold.can_resolve ? (
        <Card title="End it">
          <p>
            Find out what the provider charged for the call: by its own record, or on its pages by the ids above. Then
            charge that much, or nothing.
          </p>
          {lookup.error ? <ErrorCard error={lookup.error} /> : null}
          <div role="status">{found ? <Record found={found} /> : null}</div>
          <div className="row">
            <Button busy={lookup.isPending} onClick={() => lookup.mutate()}>
              Ask the provider's record
            </Button>
            <Button
              kind="primary"
              onClick={() => {
                setSaid('')
                setResolving(true)
              }}
            >
              End this hold
            </Button>
          </div>
        </Card>
      ) : null}
      {resolving ? (
        <ResolveDialog
          hold={hold}
          suggested={found?.cost_micro ?? undefined}
          onClose={() => setResolving(false)}
          onDone={setSaid}
        />
      ) : null}
    </>
  )
}

function Facts({ hold }: { hold: Hold }) {
  const { words, tone } = holdStates[hold.state]
  return (
    <Card title="The facts" actions={<Badge tone={tone}>{words}</Badge>}>
      {hold.state === 'shortfall' ? (
        <Notice tone="neutral" title="Its payers decide">
          <p>The cost is known and more than they had. They agree to the rest on their page of settlements.</p>
        </Notice>
      ) : null}
      <dl className="facts">
        <dt>Request</dt>
        <dd>
          <Copyable text={hold.request_id} what="request id" whole />
        </dd>
        <dt>Account</dt>
        <dd>
          <Link to="/console/operator/accounts/$id" params={{ id: String(hold.account_id) }}>
            {hold.account_id}
          </Link>
        </dd>
        <dt>For</dt>
        <dd>
          {hold.category} {hold.subject}
        </dd>
        <dt>Held</dt>
        <dd>
          <Credits micro={hold.reserve_micro} />
        </dd>
        {hold.resolved ? null : (
          <>
            <dt>Cost</dt>
            <dd>
              {hold.actual_micro === null ? 'Not known, which is not free' : <Credits micro={hold.actual_micro} />}
            </dd>
          </>
        )}
        <dt>Made</dt>
        <dd>
          <Time at={hold.created_at} /> (<Time at={hold.created_at} relative />)
        </dd>
        <dt>By process</dt>
        <dd>{hold.process ?? <span className="quiet">–</span>}</dd>
        <dt>Why</dt>
        <dd>{whyOf(hold) ?? <span className="quiet">–</span>}</dd>
        {Object.entries(hold.evidence).map(([name, value]) => (
          <div key={name} className="contents">
            <dt>{inWords(name)}</dt>
            <dd>
              <Copyable text={value} what={name.replaceAll('_', ' ')} whole />
            </dd>
          </div>
        ))}
        {hold.resolved ? (
          <>
            <dt>Charged</dt>
            <dd>
              <Credits micro={hold.resolved.charged_micro} />, <Time at={hold.resolved.at} />
            </dd>
            <dt>Decided by</dt>
            <dd>{hold.resolved.by === null ? 'its call, by itself' : operatorName(hold.resolved.by)}</dd>
            {hold.resolved.reason ? (
              <>
                <dt>Reason</dt>
                <dd>{hold.resolved.reason}</dd>
              </>
            ) : null}
          </>
        ) : null}
      </dl>
    </Card>
  )
}

const inWords = (name: string): string => `${name.charAt(0).toUpperCase()}${name.slice(1).replaceAll('_', ' ')}`

function Payers({ hold }: { hold: Hold }) {
  return (
    <Card title="Paid from">
      <Table caption="Who pays which part" columns={['Account', 'Credits', { number: 'Held' }]}>
        {hold.allocations.map((part) => (
          <tr key={`${part.payer_account_id} ${part.bucket} ${part.amount_micro}`}>
            <td>{part.payer_account_id}</td>
            <td>{part.bucket}</td>
            <td className="number">
              <Credits micro={part.amount_micro} />
            </td>
          </tr>
        ))}
      </Table>
    </Card>
  )
}

function Record({ found }: { found: Found }) {
  return (
    <Notice tone="good" title={`The record of ${found.provider}`}>
      <p>
        {count(found.input_tokens)} tokens in ({count(found.cached_input_tokens)} of them cached),{' '}
        {count(found.output_tokens)} out
        {found.cost_micro === null ? (
          '. Its price is not kept with the hold.'
        ) : (
          <>
            , which cost <Credits micro={found.cost_micro} />.
          </>
        )}
      </p>
    </Notice>
  )
}
