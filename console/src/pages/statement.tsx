import { useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../api/client.ts'
import type { Reply } from '../api/types.ts'
import { bucketName } from '../ui/format.ts'
import { ShowOlder } from '../ui/list.tsx'
import { Badge, Button, Card, Credits, Empty, Field, PageHead, Table, Time } from '../ui/parts.tsx'
import { Answer } from '../ui/query.tsx'
import { useFilters } from '../ui/search.ts'

type Statement = Reply<'/v1/credits/ledger', 'get'>
type Movement = Statement['data'][number]

/** Opening, every movement, closing: they add up, for any range. */
export function StatementPage() {
  const [filters, change] = useFilters()
  const range = {
    ...(filters.from ? { from: `${filters.from}T00:00:00Z` } : {}),
    ...(filters.to ? { to: `${filters.to}T00:00:00Z` } : {}),
  }
  const statement = useInfiniteQuery({
    queryKey: ['statement', range],
    queryFn: ({ pageParam, signal }) => {
      const query = new URLSearchParams({
        ...range,
        limit: '100',
        ...(pageParam ? { before_id: String(pageParam) } : {}),
      })
      return api<Statement>(`/v1/credits/ledger?${query}`, { signal })
    },
    initialPageParam: 0,
    getNextPageParam: (page) => page.next_cursor || undefined,
  })
  return (
    <>
      <PageHead title="Statement" actions={<DownloadCsv range={range} />}>
        Every movement of your own Credits. Opening and movements make the closing balance. Days are UTC days.
      </PageHead>
      <Card>
        <div className="grid-cards">
          <Field label="From (UTC day)">
            {(ids) => (
              <input
                {...ids}
                type="date"
                className="input"
                value={filters.from ?? ''}
                onChange={(event) => change({ from: event.target.value })}
              />
            )}
          </Field>
          <Field label="Until (UTC day, not included)">
            {(ids) => (
              <input
                {...ids}
                type="date"
                className="input"
                value={filters.to ?? ''}
                onChange={(event) => change({ to: event.target.value })}
              />
            )}
          </Field>
        </div>
      </Card>
      <Answer query={statement} lines={8}>
        {({ pages }) => {
          const [first] = pages
          const rows = pages.flatMap((page) => page.data)
          if (!first) return null
          return (
            <Card>
              <Sums opening={first.opening_micro} closing={first.closing_micro} />
              {rows.length === 0 ? <Empty title="Nothing moved in this range" /> : <Movements rows={rows} />}
              <ShowOlder list={statement} />
            </Card>
          )
        }}
      </Answer>
    </>
  )
}

function Sums({ opening, closing }: { opening: number; closing: number }) {
  const figures = [
    ['Opening', opening],
    ['Movements', closing - opening],
    ['Closing', closing],
  ] as const
  return (
    <dl className="grid-cards">
      {figures.map(([name, micro]) => (
        <div className="figure" key={name}>
          <dt>{name}</dt>
          <dd>
            <Credits micro={micro} signed={name === 'Movements'} />
          </dd>
        </div>
      ))}
    </dl>
  )
}

function Movements({ rows }: { rows: readonly Movement[] }) {
  return (
    <Table caption="Movements" columns={['Time', 'What', 'Bucket', { number: 'Amount' }, { number: 'Balance after' }]}>
      {rows.map((row) => (
        <tr key={row.id}>
          <td>
            <Time at={row.created_at} />
          </td>
          <td title={row.grant?.source_id}>{wordsOf(row)}</td>
          <td>
            <Badge>{bucketName(row.bucket)}</Badge>
          </td>
          <td className="number">
            <Credits micro={row.amount_micro} signed />
          </td>
          <td className="number">
            <Credits micro={row.balance_after_micro} />
          </td>
        </tr>
      ))}
    </Table>
  )
}

const sources: Readonly<Record<string, string>> = {
  operator: 'Given by the operator',
  order: 'Bought with an order',
  x402: 'Bought by x402',
  axon: 'Bought with the native token',
  promo: 'A present',
}

function wordsOf(row: Movement): string {
  if (row.kind === 'capture') return `Call ${row.call_id}`
  if (row.kind === 'refund')
    return `Refund ${row.refund_id ?? ''}${row.call_id === null ? '' : ` of call ${row.call_id}`}`
  if (row.kind === 'expiry') return 'Expired'
  return row.grant ? (sources[row.grant.source] ?? row.grant.source.replaceAll('_', ' ')) : 'Added'
}

/** The same range as CSV, as the server writes it. */
function DownloadCsv({ range }: { range: Readonly<Record<string, string>> }) {
  const [busy, setBusy] = useState(false)
  const [failure, setFailure] = useState<Error>()
  const download = async () => {
    setBusy(true)
    setFailure(undefined)
    try {
      const text = await api<string>(`/v1/credits/ledger?${new URLSearchParams(range)}`, {
        headers: { accept: 'text/csv' },
      })
      const link = document.createElement('a')
      link.href = URL.createObjectURL(new Blob([text], { type: 'text/csv' }))
      link.download = 'farebox-statement.csv'
      link.click()
      URL.revokeObjectURL(link.href)
    } catch (error) {
      setFailure(error as Error)
    }
    setBusy(false)
  }
  return (
    <>
      {failure ? <span role="alert">{failure.message}</span> : null}
      <Button busy={busy} onClick={() => void download()}>
        Download CSV
      </Button>
    </>
  )
}
