import type { ReactNode } from 'react'
import { count } from '../../../ui/format.ts'
import { Badge, Card, Credits, Empty, Table, Time } from '../../../ui/parts.tsx'
import type { Overview } from './standing.tsx'
import { Unread } from './unread.tsx'

type Margin = NonNullable<Overview['margin']>['models'][number]

/** What models brought in, and what of it their providers took, where that is known. */
export function Margins({ margin, choice }: { margin: Overview['margin']; choice: ReactNode }) {
  if (!margin) return <Unread title="Margin by model" />
  return (
    <Card title="Margin by model">
      <div className="filters">{choice}</div>
      {margin.models.length === 0 ? (
        <Empty title="No call in this time">Whole hours count: the hour that runs is not in it.</Empty>
      ) : (
        <Table
          caption="Charges and costs, by model"
          columns={[
            'Model',
            { number: 'Calls' },
            { number: 'Failed' },
            { number: 'Charged' },
            { number: 'Provider took' },
            'Margin',
          ]}
        >
          {margin.models.map((row) => (
            <tr key={row.model}>
              <th scope="row">{row.model}</th>
              <td className="number">{count(row.calls)}</td>
              <td className="number">{count(row.errors)}</td>
              <td className="number">
                <Credits micro={row.net_micro} />
              </td>
              <td className="number">
                {row.cost_micro === null ? (
                  <span className="quiet">not known</span>
                ) : (
                  <Credits micro={row.cost_micro} />
                )}
              </td>
              <td>
                <Left row={row} />
              </td>
            </tr>
          ))}
        </Table>
      )}
      <p className="quiet small">
        From <Time at={margin.from} /> to <Time at={margin.as_of} />, by whole hours. Charged is less what was refunded.
        Only where the cost of a provider is configured is there a margin: it is never guessed.
      </p>
    </Card>
  )
}

function Left({ row }: { row: Margin }) {
  if (row.cost_micro === null) return <span className="quiet">Cost not configured</span>
  if (row.margin_percent === null)
    return row.cost_micro > 0 ? <Badge tone="bad">Loss: nothing was charged</Badge> : <span className="quiet">–</span>
  const percent = `${row.margin_percent.toFixed(1)} %`
  return (
    <span className="stack-tight">
      <span>
        <Badge tone={row.margin_percent < 0 ? 'bad' : 'good'}>
          {row.margin_percent < 0 ? `Loss ${percent}` : percent}
        </Badge>
      </span>
      {row.complete ? null : (
        <span className="small quiet">
          of <Credits micro={row.net_known_micro} />, whose cost is known
        </span>
      )}
    </span>
  )
}
