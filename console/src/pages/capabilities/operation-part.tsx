import type { Reply } from '../../api/types.ts'
import { Badge, CodeBlock, Credits, Table } from '../../ui/parts.tsx'
import { asCurl } from './request.ts'

/** One thing that a capability can do. */
export type Operation = Reply<'/v1/capabilities', 'get'>['data'][number]['operations'][number]

/** An operation: its price at a glance; what it takes and how it is asked when it is opened. */
export function OperationPart({ operation }: { operation: Operation }) {
  return (
    <details className="operation">
      <summary>
        <span className="row-between">
          <span>
            <strong>{operation.name}</strong> <span className="quiet small">{operation.summary}</span>
          </span>
          <Price pricing={operation.pricing} />
        </span>
      </summary>
      <div className="stack">
        <p className="row">
          <Badge>{operation.method}</Badge>
          {operation.read_only ? <Badge>Changes nothing</Badge> : null}
          {operation.default_invoke_mode === 'async' ? <Badge>Answers with a task</Badge> : null}
          {operation.idempotency_key_required ? <Badge>Needs an Idempotency-Key</Badge> : null}
          {operation.availability.invoke_allowed ? null : (
            <Badge tone="warn">{operation.availability.message ?? 'Not available now'}</Badge>
          )}
        </p>
        {operation.input_fields.length > 0 ? <Fields operation={operation} /> : <p className="quiet">No input.</p>}
        <CodeBlock what={`${operation.name} as curl`} text={asCurl(operation, location.origin)} />
        <details>
          <summary>Its input as JSON Schema</summary>
          <CodeBlock
            what={`${operation.name}, input as JSON Schema`}
            text={JSON.stringify(operation.input_schema, null, 2)}
          />
        </details>
      </div>
    </details>
  )
}

function Price({ pricing }: { pricing: Operation['pricing'] }) {
  if (pricing.unit_price_micro === 0) return <span>Free</span>
  return (
    <span>
      <Credits micro={pricing.unit_price_micro} /> a {pricing.unit}
      {pricing.mode === 'per_unit' ? (
        <span className="quiet small">
          , at most <Credits micro={pricing.max_hold_micro} /> a call
        </span>
      ) : null}
    </span>
  )
}

function Fields({ operation }: { operation: Operation }) {
  return (
    <Table
      caption={`Input of ${operation.name}`}
      head={
        <>
          <th scope="col">Field</th>
          <th scope="col">Type</th>
          <th scope="col">What it is</th>
        </>
      }
    >
      {operation.input_fields.map((field) => (
        <tr key={field.name}>
          <td>
            <code>{field.name}</code>
            {field.required ? '' : <span className="small quiet"> optional</span>}
          </td>
          <td>{String(field.type ?? 'any')}</td>
          <td>
            {field.description}
            {field.default === undefined ? null : (
              <span className="small quiet"> {JSON.stringify(field.default)} unless given.</span>
            )}
            {field.enum ? <span className="small quiet"> One of {field.enum.map(String).join(', ')}.</span> : null}
          </td>
        </tr>
      ))}
    </Table>
  )
}
