import { useState } from 'react'
import { Badge, CodeBlock, Credits } from '../../ui/parts.tsx'
import type { Capability, Operation } from './operation.ts'
import { TryForm } from './try-form.tsx'

/** An operation: its price at a glance; a form to try it and the same call for programs when it is opened. */
export function OperationPart({ capability, operation }: { capability: Capability; operation: Operation }) {
  const [open, setOpen] = useState(false)
  return (
    <details className="operation" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <span className="row-between">
          <span>
            <strong>{operation.name}</strong> <span className="quiet small">{operation.summary}</span>
          </span>
          <Price pricing={operation.pricing} />
        </span>
      </summary>
      {open ? (
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
          <TryForm capability={capability} operation={operation} />
          <details>
            <summary>Its input as JSON Schema</summary>
            <CodeBlock
              what={`${operation.name}, input as JSON Schema`}
              text={JSON.stringify(operation.input_schema, null, 2)}
            />
          </details>
        </div>
      ) : null}
    </details>
  )
}

function Price({ pricing }: { pricing: Operation['pricing'] }) {
  if (pricing.unit_price_micro === 0) return <span>Free</span>
  return (
    <span>
      <Credits micro={pricing.unit_price_micro} /> a {pricing.unit}
    </span>
  )
}
