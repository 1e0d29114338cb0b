import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { api } from '../../../api/client.ts'
import type { Reply } from '../../../api/types.ts'
import { Badge, Card, Empty, Field, PageHead, Table, Time } from '../../../ui/parts.tsx'
import { Answer } from '../../../ui/query.tsx'
import { useFilters } from '../../../ui/search.ts'
import { AdminsOnly } from '../admins-only.tsx'
import { kinds } from './kinds.ts'
import '../operator.css'
import './money.css'

type List = Reply<'/v1/admin/reviews', 'get'>

const EVERY_MS = 15_000
const LIMIT = 100

/** Payments that could not be credited by themselves, longest first. */
export const OperatorReviews = () => (
  <AdminsOnly>
    <Listed />
  </AdminsOnly>
)

function Listed() {
  const [filters, change] = useFilters()
  const kind = Object.keys(kinds).find((name) => name === filters.kind) ?? ''
  const list = useQuery({
    queryKey: ['/v1/admin/reviews', kind],
    queryFn: ({ signal }) =>
      api<List>(`/v1/admin/reviews?${new URLSearchParams({ limit: String(LIMIT), ...(kind ? { kind } : {}) })}`, {
        signal,
      }),
    refetchInterval: EVERY_MS,
  })
  return (
    <>
      <PageHead title="Payments in review">
        Most payments are credited by themselves. These arrived in a way that somebody has to look at, longest first.
      </PageHead>
      <Card>
        <div className="filters">
          <Field label="Kind">
            {(ids) => (
              <select
                {...ids}
                className="input"
                value={kind}
                onChange={(event) => change({ kind: event.target.value })}
              >
                <option value="">All</option>
                {Object.entries(kinds).map(([name, { plural }]) => (
                  <option key={name} value={name}>
                    {plural}
                  </option>
                ))}
              </select>
            )}
          </Field>
        </div>
        <Answer query={list} lines={6}>
          {({ data, has_more }) =>
            data.length === 0 ? (
              <Empty title="Queue empty">
                <p>No payment waits for a decision.</p>
              </Empty>
            ) : (
              <>
                <Rows rows={data} />
                {has_more ? (
                  <p className="quiet small">
                    These are the {LIMIT} that wait longest. There are more: decide on these first.
                  </p>
                ) : null}
              </>
            )
          }
        </Answer>
      </Card>
    </>
  )
}

function Rows({ rows }: { rows: List['data'] }) {
  return (
    <Table
      caption="Payments in review"
      columns={['Payment', 'Why it waits', { number: 'Asked' }, { number: 'Arrived' }, 'Account', 'Since']}
    >
      {rows.map((row) => (
        <tr key={row.id}>
          <td>
            <span className="stack-tight">
              <Link to="/console/operator/reviews/$id" params={{ id: row.id }} aria-label={`Look at ${row.id}`}>
                {shortId(row.id)}
              </Link>
              <span>
                <Badge>{kinds[row.kind].one}</Badge>
              </span>
            </span>
          </td>
          <td>{row.reason_in_words}</td>
          <td className="number">{row.expected ? `${row.expected.amount} ${row.expected.symbol}` : none}</td>
          <td className="number">{row.received ? `${row.received.amount} ${row.received.symbol}` : none}</td>
          <td>
            {row.account_id === null ? (
              none
            ) : (
              <Link to="/console/operator/accounts/$id" params={{ id: String(row.account_id) }}>
                {row.account_id}
              </Link>
            )}
          </td>
          <td>
            <Time at={row.opened_at} relative />
          </td>
        </tr>
      ))}
    </Table>
  )
}

const none = <span className="quiet">–</span>

/** Enough of an id to tell it from its neighbours. */
const shortId = (id: string): string => (id.length > 20 ? `${id.slice(0, 14)}…` : id)
