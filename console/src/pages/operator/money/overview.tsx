import { useQuery } from '@tanstack/react-query'
import { api } from '../../../api/client.ts'
import type { Reply } from '../../../api/types.ts'
import { Button, Field, PageHead, Time } from '../../../ui/parts.tsx'
import { Answer } from '../../../ui/query.tsx'
import { useFilters } from '../../../ui/search.ts'
import { AdminsOnly } from '../admins-only.tsx'
import { Jobs } from './jobs.tsx'
import { Chains, Providers, Server } from './machinery.tsx'
import { Margins } from './margins.tsx'
import type { Overview } from './standing.tsx'
import { Treasury } from './treasury.tsx'
import { Waiting } from './waiting.tsx'
import '../operator.css'
import './money.css'

/** As often as the page looks again by itself. */
const EVERY_MS = 15_000
const days = ['1', '7', '31']

/** How everything stands, for whoever runs the server. */
export const OperatorOverview = () => (
  <AdminsOnly>
    <Read />
  </AdminsOnly>
)

function Read() {
  const [filters, change] = useFilters()
  const range = days.includes(filters.days ?? '') ? (filters.days ?? '7') : '7'
  const overview = useQuery({
    queryKey: ['/v1/admin/overview', range],
    queryFn: ({ signal }) => api<Reply<'/v1/admin/overview', 'get'>>(`/v1/admin/overview?days=${range}`, { signal }),
    refetchInterval: EVERY_MS,
    placeholderData: (before) => before,
  })
  return (
    <>
      <PageHead
        title="Operator overview"
        actions={
          <Button busy={overview.isFetching} onClick={() => void overview.refetch()}>
            Look again
          </Button>
        }
      >
        How the server, its money and its work stand. It is looked at again by itself every 15 seconds.
      </PageHead>
      <Answer query={overview} lines={12}>
        {({ data }) => (
          <>
            <Whole all={data} />
            <Margins
              margin={data.margin}
              choice={
                <Field label="Days">
                  {(ids) => (
                    <select
                      {...ids}
                      className="input"
                      value={range}
                      onChange={(event) => change({ days: event.target.value })}
                    >
                      {days.map((day) => (
                        <option key={day} value={day}>
                          {day === '1' ? 'The last day' : `The last ${day} days`}
                        </option>
                      ))}
                    </select>
                  )}
                </Field>
              }
            />
            <Machinery all={data} />
          </>
        )}
      </Answer>
    </>
  )
}

function Whole({ all }: { all: Overview }) {
  return (
    <>
      <p className="quiet small">
        As of <Time at={all.as_of} />
      </p>
      <Waiting all={all} />
      <Treasury list={all.treasury} />
    </>
  )
}

function Machinery({ all }: { all: Overview }) {
  return (
    <>
      <Providers providers={all.providers} />
      <Chains all={all} />
      <Jobs jobs={all.jobs} />
      <Server all={all} />
    </>
  )
}
