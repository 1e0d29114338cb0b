import { useQuery } from '@tanstack/react-query'
import { api } from '../api/client.ts'
import type { Reply } from '../api/types.ts'
import { Badge, Card, Credits, PageHead, Table, Time } from '../ui/parts.tsx'
import { Answer } from '../ui/query.tsx'

/** What there is to spend, where it came from, and what wants attention. */
export function Home() {
  const balance = useQuery({
    queryKey: ['balance'],
    queryFn: ({ signal }) => api<Reply<'/v1/credits/balance', 'get'>>('/v1/credits/balance', { signal }),
  })
  return (
    <>
      <PageHead title="Home">Your Credits, and what is being spent.</PageHead>
      <Answer query={balance} lines={6}>
        {(data) => (
          <>
            <dl className="grid-cards">
              {(
                [
                  ['Available', data.available_micro],
                  ['Held by calls in flight', data.held_micro],
                  ['Balance', data.balance_micro],
                ] as const
              ).map(([label, micro]) => (
                <div className="card figure" key={label}>
                  <dt>{label}</dt>
                  <dd>
                    <Credits micro={micro} />
                  </dd>
                </div>
              ))}
            </dl>
            <Card title="Where they are">
              <Table
                caption="Buckets in the order of use"
                head={
                  <>
                    <th scope="col">Kind</th>
                    <th scope="col">Ends</th>
                    <th scope="col" className="number">
                      Held
                    </th>
                    <th scope="col" className="number">
                      Available
                    </th>
                  </>
                }
              >
                {data.buckets.map((bucket) => (
                  <tr key={`${bucket.kind} ${bucket.expires_at}`}>
                    <td>
                      <Badge>{bucket.kind}</Badge>
                    </td>
                    <td>
                      {bucket.expires_at ? <Time at={bucket.expires_at} /> : <span className="quiet">Never</span>}
                    </td>
                    <td className="number">
                      <Credits micro={bucket.held_micro} />
                    </td>
                    <td className="number">
                      <Credits micro={bucket.available_micro} />
                    </td>
                  </tr>
                ))}
              </Table>
            </Card>
          </>
        )}
      </Answer>
    </>
  )
}
