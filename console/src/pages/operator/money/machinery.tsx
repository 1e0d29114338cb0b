import { count } from '../../../ui/format.ts'
import { Card, Empty, Table, Time } from '../../../ui/parts.tsx'
import { type Overview, StandingBadge } from './standing.tsx'
import { Unread } from './unread.tsx'

/** How providers answered the process that answered. */
export function Providers({ providers }: { providers: Overview['providers'] }) {
  return (
    <Card title="Providers">
      <Table
        caption="Attempts at providers"
        columns={['Provider', 'State', 'Last attempt', 'Last answer', { number: 'Attempts' }]}
      >
        {providers.list.map((provider) => (
          <tr key={provider.name}>
            <th scope="row">
              {provider.name} <span className="quiet small">{provider.kind}</span>
            </th>
            <td>
              <span className="stack-tight">
                <span>
                  <StandingBadge state={provider.state} />
                </span>
                {provider.failures_in_a_row > 0 ? (
                  <span className="small">{count(provider.failures_in_a_row)} failed in a row</span>
                ) : null}
              </span>
            </td>
            <td>
              <Time at={provider.last_attempt_at} relative />{' '}
              <span className="quiet small">{provider.last_outcome ?? ''}</span>
            </td>
            <td>
              <Time at={provider.last_good_at} relative />
            </td>
            <td className="number">{count(provider.attempts)}</td>
          </tr>
        ))}
      </Table>
      <p className="quiet small">
        What {providers.scope} saw since <Time at={providers.since} />. Other processes have their own.
      </p>
    </Card>
  )
}

const readers = { this_process: 'this process', another_process: 'another process', nobody: 'nobody' } as const

/** The chains that payments come in on. */
export function Chains({ all: { chains, x402, native } }: { all: Overview }) {
  if (!chains) return <Unread title="Chains" />
  if (chains.length === 0 && !native)
    return (
      <Card title="Chains">
        <Empty title="No chain is read">No asset is configured.</Empty>
      </Card>
    )
  const others = [
    ...(x402 ? [{ name: 'Payments by x402', ...x402 }] : []),
    ...(native ? [{ name: 'The native token', ...native }] : []),
  ]
  return (
    <Card title="Chains">
      <Table caption="How far chains are read" columns={['Chain', 'State', 'Now', 'Read by', 'Read']}>
        {chains.map((chain) => (
          <tr key={chain.chain_id}>
            <th scope="row">
              {chain.network_name} <span className="quiet small">{chain.chain_id}</span>
            </th>
            <td>
              <StandingBadge state={chain.state} />
            </td>
            <td>
              {chain.detail === 'read'
                ? `${count(chain.blocks_behind)} blocks behind`
                : `${chain.stopped ? 'Stopped: ' : ''}${chain.detail}`}
            </td>
            <td>{readers[chain.read_by]}</td>
            <td>
              <Time at={chain.as_of} relative />
            </td>
          </tr>
        ))}
        {others.map((other) => (
          <tr key={other.name}>
            <th scope="row">{other.name}</th>
            <td>
              <StandingBadge state={other.state} />
            </td>
            <td>{other.detail}</td>
            <td>
              <span className="quiet">–</span>
            </td>
            <td>
              <Time at={other.as_of} relative />
            </td>
          </tr>
        ))}
      </Table>
    </Card>
  )
}

/** What runs here, on which configuration. */
export function Server({ all: { server } }: { all: Overview }) {
  const { configuration } = server
  return (
    <Card title="Server" actions={<StandingBadge state={server.state} />}>
      <dl className="facts">
        <dt>Version</dt>
        <dd>{server.version}</dd>
        <dt>Answered by</dt>
        <dd>
          {server.process} (process {server.process_id}), since <Time at={server.started_at} />
        </dd>
        <dt>Running</dt>
        <dd>{server.running.join(', ')}</dd>
        <dt>Configuration</dt>
        <dd>
          <code>{configuration.fingerprint}</code> <span className="quiet">of {configuration.file}</span>
        </dd>
      </dl>
      <p className="quiet small">Servers that show the same configuration sell the same at the same prices.</p>
    </Card>
  )
}
