import type { Reply } from '../../../api/types.ts'
import { count } from '../../../ui/format.ts'
import { Badge, Card, Credits, Table, Time } from '../../../ui/parts.tsx'

type Prices = Reply<'/v1/admin/prices', 'get'>['data']
type State = Prices['chat'][number]['state']

const tones = { 'in force': 'good', 'to come': 'accent', past: 'neutral' } as const

/** Chat models, for a million tokens. */
export function ChatPrices({ rows }: { rows: Prices['chat'] }) {
  if (rows.length === 0) return null
  return (
    <Card title="Chat, for a million tokens">
      <Table
        caption="Prices of chat models, for a million tokens"
        columns={[
          'Model',
          'Version',
          'From',
          { number: 'Input' },
          { number: 'Cached input' },
          { number: 'Output' },
          { number: 'Margin in' },
          { number: 'Margin out' },
        ]}
      >
        {rows.map((row) => (
          <tr key={`${row.model} ${row.version}`}>
            <Name name={row.model} enabled={row.enabled} />
            <Version version={row.version} state={row.state} />
            <td>
              <Time at={row.effective_from} />
            </td>
            <Amount micro={row.input_micro_per_m} />
            <Amount micro={row.cached_input_micro_per_m} />
            <Amount micro={row.output_micro_per_m} />
            <Margin percent={row.margin_input_percent} />
            <Margin percent={row.margin_output_percent} />
          </tr>
        ))}
      </Table>
    </Card>
  )
}

/** Models of pictures and films, for one unit. */
export function MediaPrices({ rows }: { rows: Prices['media'] }) {
  if (rows.length === 0) return null
  return (
    <Card title="Pictures and films, for one unit">
      <Table
        caption="Prices of pictures and films, for one unit"
        columns={['Model', 'Version', 'From', 'For', { number: 'Price' }, { number: 'Margin' }]}
      >
        {rows.map((row) => (
          <tr key={`${row.model} ${row.version} ${row.tier}`}>
            <Name name={row.model} enabled={row.enabled} />
            <Version version={row.version} state={row.state} />
            <td>
              <Time at={row.effective_from} />
            </td>
            <td>
              {row.tier ?? 'all else'}, each {row.unit}
            </td>
            <Amount micro={row.unit_price_micro} />
            <Margin percent={row.margin_percent} />
          </tr>
        ))}
      </Table>
    </Card>
  )
}

/** Operations of capabilities, for one call or unit. */
export function CapabilityPrices({ rows }: { rows: Prices['capabilities'] }) {
  if (rows.length === 0) return null
  return (
    <Card title="Capabilities, for one unit">
      <Table
        caption="Prices of capabilities, for one unit"
        columns={['Capability', 'Version', 'Operation', 'Unit', { number: 'Price' }, { number: 'At most' }]}
      >
        {rows.map((row) => (
          <tr key={`${row.capability} ${row.version} ${row.operation}`}>
            <Name name={row.capability} enabled={row.enabled} />
            <td>
              {row.version} {row.is_default ? <Badge tone="good">default</Badge> : null}
            </td>
            <td>{row.operation}</td>
            <td>{row.unit}</td>
            <Amount micro={row.unit_price_micro} />
            <td className="number">{row.units_max === null ? '–' : count(row.units_max)}</td>
          </tr>
        ))}
      </Table>
    </Card>
  )
}

const Name = ({ name, enabled }: { name: string; enabled: boolean }) => (
  <th scope="row">
    {name} {enabled ? null : <Badge>disabled</Badge>}
  </th>
)

const Version = ({ version, state }: { version: number; state: State }) => (
  <td>
    {version} <Badge tone={tones[state]}>{state}</Badge>
  </td>
)

const Amount = ({ micro }: { micro: number }) => (
  <td className="number">
    <Credits micro={micro} />
  </td>
)

/** Without a configured cost there is nothing to say. */
const Margin = ({ percent }: { percent: number | null }) => (
  <td className="number">
    {percent === null ? (
      <span className="quiet">not known</span>
    ) : (
      <Badge tone={percent < 0 ? 'bad' : 'good'}>
        {percent < 0 ? `Loss ${percent.toFixed(1)} %` : `${percent.toFixed(1)} %`}
      </Badge>
    )}
  </td>
)
