import { Card, Empty, Table, Time } from '../../../ui/parts.tsx'
import { type Overview, StandingBadge } from './standing.tsx'
import { Unread } from './unread.tsx'

const found = {
  equal: 'Equal',
  drift: 'They differ',
  stale: 'Too old to say',
  not_compared: 'Not compared yet',
} as const

/** What the chain shows that we received, beside what Credits were given for. */
export function Treasury({ list }: { list: Overview['treasury'] }) {
  if (!list) return <Unread title="Treasury against ledger" />
  return (
    <Card title="Treasury against ledger">
      {list.length === 0 ? (
        <Empty title="No asset is taken">Configure one under payments.assets in farebox.yaml.</Empty>
      ) : (
        <Table
          caption="Received and credited, by asset"
          columns={[
            'Asset',
            'State',
            { number: 'Received' },
            { number: 'Credited' },
            { number: 'Not credited' },
            { number: 'Drift' },
            'Compared',
          ]}
        >
          {list.map((row) => (
            <tr key={row.asset}>
              <th scope="row">{nameOf(row.asset)}</th>
              <td>
                <span className="stack-tight">
                  <span>
                    <StandingBadge state={row.state} />
                  </span>
                  <span className="small">{found[row.found]}</span>
                  {row.found === 'drift' ? <span className="small">{row.detail}</span> : null}
                </span>
              </td>
              <td className="number">{row.received}</td>
              <td className="number">{row.credited}</td>
              <td className="number">{row.not_credited}</td>
              <td className="number">{row.drift}</td>
              <td>
                <Time at={row.as_of} relative />
              </td>
            </tr>
          ))}
        </Table>
      )}
      <p className="quiet small">
        Amounts are units of the asset. Not credited: in review, without an order, on its way, or dust. A comparison
        older than 15 minutes says nothing, whatever it found.
      </p>
    </Card>
  )
}

/** The coin is named by chain and address. */
const nameOf = (asset: string): string =>
  asset.startsWith('axon:') ? `Native token at ${asset.split(':')[2]?.slice(0, 8)}…` : asset
