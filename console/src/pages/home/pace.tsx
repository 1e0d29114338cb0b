import { useQuery } from '@tanstack/react-query'
import { api } from '../../api/client.ts'
import type { Reply } from '../../api/types.ts'
import { StackedBars } from '../../ui/chart.tsx'
import { fromMicro } from '../../ui/format.ts'
import { Card, Credits } from '../../ui/parts.tsx'
import { Failure } from '../../ui/query.tsx'

const DAY_MS = 86_400_000
const DAYS = 7

/** The last week's spending, and how long what is left lasts at that pace. */
export function Pace({ availableMicro }: { availableMicro: number }) {
  const to = new Date(Math.ceil(Date.now() / DAY_MS) * DAY_MS)
  const from = new Date(to.getTime() - DAYS * DAY_MS)
  const usage = useQuery({
    queryKey: ['usage', 'week', from.toISOString()],
    queryFn: ({ signal }) => {
      const query = new URLSearchParams({ from: from.toISOString(), to: to.toISOString(), group_by: 'day' })
      return api<Reply<'/v1/usage', 'get'>>(`/v1/usage?${query}`, { signal })
    },
  })
  if (!usage.data) return <Failure query={usage} />
  if (usage.data.totals.calls === 0) return null
  const spent = usage.data.totals.charged_micro
  const byDay = new Map(usage.data.data.map((row) => [row.day, row.charged_micro]))
  const bars = Array.from({ length: DAYS }, (_, n) => {
    const day = new Date(from.getTime() + n * DAY_MS).toISOString().slice(0, 10)
    return { label: day.slice(5), values: { Credits: byDay.get(day) ?? 0 } }
  })
  return (
    <Card title="The last 7 days">
      <p>
        <Credits micro={spent} /> spent
        {spent > 0 ? <span className="quiet"> · {runway(availableMicro, spent)}</span> : null}
      </p>
      <StackedBars
        title="Credits, UTC days"
        bars={bars}
        series={['Credits']}
        format={(value) => fromMicro(Math.round(value))}
      />
    </Card>
  )
}

function runway(availableMicro: number, spentMicro: number): string {
  const days = Math.floor((availableMicro * DAYS) / spentMicro)
  if (days > 365) return 'enough for more than a year at this pace'
  return `enough for about ${days} ${days === 1 ? 'day' : 'days'} at this pace`
}
