import { useQuery } from '@tanstack/react-query'
import { api } from '../api/client.ts'
import type { Reply } from '../api/types.ts'
import { type Bar, StackedBars } from '../ui/chart.tsx'
import { Choice, optionsOf } from '../ui/choice.tsx'
import { count, fromMicro } from '../ui/format.ts'
import { Button, Card, Credits, Empty, PageHead, Table } from '../ui/parts.tsx'
import { Answer } from '../ui/query.tsx'
import { useFilters } from '../ui/search.ts'

type Usage = Reply<'/v1/usage', 'get'>
type Row = Usage['data'][number]

const metrics = {
  charged: {
    words: 'Credits',
    of: (row: Row) => row.charged_micro,
    format: (value: number) => fromMicro(Math.round(value)),
  },
  calls: { words: 'Calls', of: (row: Row) => row.calls, format: count },
  tokens: { words: 'Tokens', of: (row: Row) => row.input_tokens + row.output_tokens, format: count },
  errors: { words: 'Errors', of: (row: Row) => row.errors, format: count },
} as const
type Metric = keyof typeof metrics

const groups = {
  model: { words: 'Model', of: (row: Row) => (row.other ? 'Other' : (row.model ?? 'Unknown')) },
  agent: { words: 'Account', of: (row: Row) => (row.other ? 'Other' : `Account ${row.actor_account_id}`) },
  key: {
    words: 'API key',
    of: (row: Row) => (row.other ? 'Other' : row.key_id == null ? 'Session' : `Key ${row.key_id}`),
  },
} as const
type Group = keyof typeof groups

const DAY_MS = 86_400_000
const SERIES_MAX = 7

/** Credits, calls, tokens and errors by UTC day: one chart, its table, and totals that are those of the statement. */
export function UsagePage() {
  const [filters, change] = useFilters()
  const metric: Metric =
    filters.metric !== undefined && filters.metric in metrics ? (filters.metric as Metric) : 'charged'
  const group: Group = filters.group !== undefined && filters.group in groups ? (filters.group as Group) : 'model'
  const days = [7, 30, 90].includes(Number(filters.days)) ? Number(filters.days) : 30
  const to = new Date(Math.ceil(Date.now() / DAY_MS) * DAY_MS)
  const from = new Date(to.getTime() - days * DAY_MS)
  const usage = useQuery({
    queryKey: ['usage', group, days, from.toISOString()],
    queryFn: ({ signal }) => {
      const query = new URLSearchParams({ from: from.toISOString(), to: to.toISOString(), group_by: `day,${group}` })
      return api<Usage>(`/v1/usage?${query}`, { signal })
    },
  })
  return (
    <>
      <PageHead title="Usage">
        What was spent, by UTC day. Calls whose cost is unknown are not in it: see Settlements.
      </PageHead>
      <Card>
        <div className="grid-cards">
          <Choice
            label="Show"
            value={metric}
            options={optionsOf(metrics)}
            onChange={(value) => change({ metric: value })}
          />
          <Choice label="By" value={group} options={optionsOf(groups)} onChange={(value) => change({ group: value })} />
          <Choice
            label="Days"
            value={String(days)}
            options={['7', '30', '90'].map((last) => [last, `Last ${last}`] as const)}
            onChange={(value) => change({ days: value })}
          />
        </div>
      </Card>
      <Answer query={usage} lines={8}>
        {(data) =>
          data.totals.calls === 0 ? (
            <Card>
              <Empty title="No calls in this range">
                {days < 90 ? <Button onClick={() => change({ days: '90' })}>Show the last 90 days</Button> : null}
              </Empty>
            </Card>
          ) : (
            <>
              <Card>
                <Chart data={data} metric={metric} group={group} from={from} days={days} />
              </Card>
              <Totals data={data} group={group} />
            </>
          )
        }
      </Answer>
    </>
  )
}

function Chart({
  data,
  metric,
  group,
  from,
  days,
}: {
  data: Usage
  metric: Metric
  group: Group
  from: Date
  days: number
}) {
  const of = metrics[metric].of
  const totals = new Map<string, number>()
  for (const row of data.data) totals.set(groups[group].of(row), (totals.get(groups[group].of(row)) ?? 0) + of(row))
  const largest = [...totals].toSorted(([, a], [, b]) => b - a).map(([name]) => name)
  const own = new Set(largest.slice(0, SERIES_MAX))
  const nameOf = (row: Row): string => (own.has(groups[group].of(row)) ? groups[group].of(row) : 'Other')
  const bars: Bar[] = Array.from({ length: days }, (_, n) => {
    const day = new Date(from.getTime() + n * DAY_MS).toISOString().slice(0, 10)
    const values: Record<string, number> = {}
    for (const row of data.data.filter((one) => one.day === day))
      values[nameOf(row)] = (values[nameOf(row)] ?? 0) + of(row)
    return { label: day.slice(5), values }
  })
  const series = [...own, ...(largest.length > own.size && !own.has('Other') ? ['Other'] : [])]
  return (
    <StackedBars
      title={`${metrics[metric].words} by ${groups[group].words.toLowerCase()}, UTC days`}
      bars={bars}
      series={series}
      format={metrics[metric].format}
    />
  )
}

function Totals({ data, group }: { data: Usage; group: Group }) {
  const sums = new Map<string, { charged: number; calls: number; tokens: number; errors: number }>()
  for (const row of data.data) {
    const name = groups[group].of(row)
    const sum = sums.get(name) ?? { charged: 0, calls: 0, tokens: 0, errors: 0 }
    sum.charged += row.charged_micro
    sum.calls += row.calls
    sum.tokens += row.input_tokens + row.output_tokens
    sum.errors += row.errors
    sums.set(name, sum)
  }
  const { totals } = data
  return (
    <Card title="Totals">
      <Table
        caption="Totals of the range"
        columns={[groups[group].words, ...Object.values(metrics).map(({ words }) => ({ number: words }))]}
        foot={
          <tr>
            <th scope="row">All</th>
            <td className="number">
              <Credits micro={totals.charged_micro} />
            </td>
            <td className="number">{count(totals.calls)}</td>
            <td className="number">{count(totals.input_tokens + totals.output_tokens)}</td>
            <td className="number">{count(totals.errors)}</td>
          </tr>
        }
      >
        {[...sums]
          .toSorted(([, a], [, b]) => b.charged - a.charged)
          .map(([name, sum]) => (
            <tr key={name}>
              <td>{name}</td>
              <td className="number">
                <Credits micro={sum.charged} />
              </td>
              <td className="number">{count(sum.calls)}</td>
              <td className="number">{count(sum.tokens)}</td>
              <td className="number">{count(sum.errors)}</td>
            </tr>
          ))}
      </Table>
    </Card>
  )
}
