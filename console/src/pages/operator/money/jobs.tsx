import { Card, Table, Time } from '../../../ui/parts.tsx'
import { type Overview, StandingBadge } from './standing.tsx'

const every = (seconds: number): string =>
  seconds >= 86_400 ? `${seconds / 86_400} d` : seconds >= 60 ? `${seconds / 60} min` : `${seconds} s`

/** What the server does beside answering, in the process that answered. */
export function Jobs({ jobs }: { jobs: Overview['jobs'] }) {
  return (
    <Card title="Jobs of this process">
      <Table caption="Jobs and their last rounds" columns={['Job', 'State', 'Every', 'Last round']}>
        {jobs.map((job) => (
          <tr key={job.name}>
            <th scope="row">{job.name}</th>
            <td>
              <StandingBadge state={job.state} />
            </td>
            <td>{every(job.every_seconds)}</td>
            <td>
              <Time at={job.as_of} relative />
            </td>
          </tr>
        ))}
      </Table>
    </Card>
  )
}
