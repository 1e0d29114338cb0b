import { Badge, Card, Credits, Table, Time } from '../../../ui/parts.tsx'
import type { FullAccount } from './account.tsx'

/** What an account has, in all and by bucket. */
export function Balance({ full }: { full: FullAccount }) {
  return (
    <Card title="Balance">
      <dl className="grid-cards">
        <Figure words="Available" micro={full.available_micro} />
        <Figure words="Held for open calls" micro={full.held_micro} />
        <Figure words="Balance" micro={full.balance_micro} />
      </dl>
      {full.buckets.length === 0 ? null : (
        <Table
          caption="Buckets, in the order in which they are spent"
          columns={['Kind', { number: 'Balance' }, { number: 'Held' }, 'Expires']}
        >
          {full.buckets.map((bucket) => (
            <tr key={`${bucket.kind} ${bucket.expires_at}`}>
              <td>{bucket.kind}</td>
              <td className="number">
                <Credits micro={bucket.balance_micro} />
              </td>
              <td className="number">
                <Credits micro={bucket.held_micro} />
              </td>
              <td>
                {bucket.expires_at === null ? 'Never' : <Time at={bucket.expires_at} />}{' '}
                {bucket.expired ? <Badge tone="warn">Expired</Badge> : null}
              </td>
            </tr>
          ))}
        </Table>
      )}
    </Card>
  )
}

const Figure = ({ words, micro }: { words: string; micro: number }) => (
  <div className="figure">
    <dt>{words}</dt>
    <dd>
      <Credits micro={micro} />
    </dd>
  </div>
)
