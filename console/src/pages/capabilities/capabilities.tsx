import { useQuery } from '@tanstack/react-query'
import { api } from '../../api/client.ts'
import type { Reply } from '../../api/types.ts'
import { Badge, Card, Empty, PageHead } from '../../ui/parts.tsx'
import { Answer } from '../../ui/query.tsx'
import type { Capability } from './operation.ts'
import { OperationPart } from './operation-part.tsx'

type Capabilities = Reply<'/v1/capabilities', 'get'>

/** What can be called besides models: each operation with its price, its input and a request to copy. */
export function Capabilities() {
  const capabilities = useQuery({
    queryKey: ['/v1/capabilities'],
    queryFn: ({ signal }) => api<Capabilities>('/v1/capabilities', { signal }),
  })
  return (
    <>
      <PageHead title="Capabilities">
        Services that programs call by name, each operation at its price. They are also tools over MCP.
      </PageHead>
      <Answer query={capabilities} lines={6}>
        {({ data }) =>
          data.length === 0 ? (
            <Card>
              <Empty title="The operator has not enabled any">
                <p>Models work without them.</p>
              </Empty>
            </Card>
          ) : (
            data.map((capability) => <CapabilityCard key={capability.slug} capability={capability} />)
          )
        }
      </Answer>
    </>
  )
}

function CapabilityCard({ capability }: { capability: Capability }) {
  return (
    <Card
      repeated
      title={capability.name}
      actions={
        <span className="row">
          <Badge>{capability.category}</Badge>
          {capability.availability.invoke_allowed ? (
            <Badge tone="good">Available</Badge>
          ) : (
            <Badge tone="warn">Not now</Badge>
          )}
        </span>
      }
    >
      <p>{capability.short_description}</p>
      <p className="small quiet">
        <code>{capability.slug}</code> {capability.version}, by {capability.provider_name}.{' '}
        {capability.availability.message}
      </p>
      <div>
        {capability.operations.map((operation) => (
          <OperationPart key={operation.slug} capability={capability} operation={operation} />
        ))}
      </div>
    </Card>
  )
}
