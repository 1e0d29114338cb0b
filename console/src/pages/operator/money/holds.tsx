import { Link } from '@tanstack/react-router'
import type { Reply } from '../../../api/types.ts'
import { List, useList } from '../../../ui/list.tsx'
import { Badge, Card, Credits, Empty, Field, PageHead, Table, Time } from '../../../ui/parts.tsx'
import { useFilters } from '../../../ui/search.ts'
import { AdminsOnly } from '../admins-only.tsx'
import '../operator.css'
import './money.css'

type Hold = Reply<'/v1/admin/holds', 'get'>['data'][number]

/** What the state of a hold is called. */
export const holdStates = {
  running: { words: 'Its call runs', tone: 'accent' },
  usage_unknown: { words: 'Cost unknown: yours', tone: 'warn' },
  shortfall: { words: 'Above the hold: its payers’', tone: 'neutral' },
  captured: { words: 'Charged', tone: 'good' },
  voided: { words: 'Nothing charged', tone: 'neutral' },
} as const

/** Why a hold waits, for people. Of one above its hold the numbers stand beside it, in Credits. */
export const whyOf = ({ state, why }: Pick<Hold, 'state' | 'why'>): string | null =>
  state === 'shortfall' ? 'It cost more than was held, and its payers had no more.' : why

/** Credits that calls set aside and that nobody ended. */
export const OperatorHolds = () => (
  <AdminsOnly>
    <Listed />
  </AdminsOnly>
)

function Listed() {
  const [filters, change] = useFilters()
  const flag = filters.flag === 'usage_unknown' || filters.flag === 'shortfall' ? filters.flag : ''
  const account = /^[1-9]\d{0,14}$/.test(filters.account ?? '') ? (filters.account ?? '') : ''
  const search = { ...(flag ? { flag } : {}), ...(account ? { account } : {}) }
  const list = useList<Hold>('/v1/admin/holds', search, { cursor: 'after', everyMs: 15_000 })
  return (
    <>
      <PageHead title="Holds">
        Credits that a call set aside and that stay held, because what it cost is not known, or is more than was held.
      </PageHead>
      <Card>
        <div className="filters">
          <Field label="Why">
            {(ids) => (
              <select
                {...ids}
                className="input"
                value={flag}
                onChange={(event) => change({ flag: event.target.value })}
              >
                <option value="">All</option>
                <option value="usage_unknown">Cost unknown: for you</option>
                <option value="shortfall">Above the hold: for its payers</option>
              </select>
            )}
          </Field>
          <Field label="Account">
            {(ids) => (
              <input
                {...ids}
                className="input"
                inputMode="numeric"
                placeholder="All"
                defaultValue={account}
                onChange={(event) => change({ account: event.target.value.trim() })}
              />
            )}
          </Field>
        </div>
        <List
          list={list}
          more="Show newer"
          empty={
            <Empty title="No hold waits">
              <p>Every call ended with a known cost.</p>
            </Empty>
          }
        >
          {(rows) => <Rows rows={rows} />}
        </List>
      </Card>
    </>
  )
}

function Rows({ rows }: { rows: readonly Hold[] }) {
  return (
    <Table
      caption="Holds that wait"
      columns={['Hold', 'State', 'Made', 'Account', 'For', { number: 'Held' }, { number: 'Cost' }, 'Why']}
    >
      {rows.map((row) => (
        <tr key={row.id}>
          <td>
            <Link
              to="/console/operator/holds/$id"
              params={{ id: String(row.id) }}
              aria-label={`Look at hold ${row.id}`}
            >
              {row.id}
            </Link>
          </td>
          <td>
            <Badge tone={holdStates[row.state].tone}>{holdStates[row.state].words}</Badge>
          </td>
          <td>
            <Time at={row.created_at} relative />
          </td>
          <td>
            <Link to="/console/operator/accounts/$id" params={{ id: String(row.account_id) }}>
              {row.account_id}
            </Link>
          </td>
          <td>{row.subject}</td>
          <td className="number">
            <Credits micro={row.reserve_micro} />
          </td>
          <td className="number">
            {row.actual_micro === null ? (
              <span className="quiet">not known</span>
            ) : (
              <Credits micro={row.actual_micro} />
            )}
          </td>
          <td>{whyOf(row)}</td>
        </tr>
      ))}
    </Table>
  )
}
