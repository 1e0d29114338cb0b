import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import type { Reply } from '../../api/types.ts'
import { Button, Card, Empty, PageHead } from '../../ui/parts.tsx'
import { Answer } from '../../ui/query.tsx'
import { Deliveries } from './deliveries.tsx'
import { ENDPOINTS } from './endpoint.ts'
import { EndpointCard } from './endpoint-card.tsx'
import { EndpointDialog } from './endpoint-dialog.tsx'

/** Where this account is told of things, and what it was told. */
export function Webhooks() {
  const endpoints = useQuery({
    queryKey: [ENDPOINTS],
    queryFn: ({ signal }) => api<Reply<'/v1/me/webhooks', 'get'>>(ENDPOINTS, { signal }),
  })
  const [making, setMaking] = useState(false)
  const make = (
    <Button kind="primary" onClick={() => setMaking(true)}>
      New endpoint
    </Button>
  )
  return (
    <>
      <PageHead title="Webhooks" actions={make}>
        Your server hears of what happens, so that it need not ask. Each message is signed and tried for a day.
      </PageHead>
      <Answer query={endpoints} lines={4}>
        {({ data }) => (
          <>
            {data.length === 0 ? (
              <Card>
                <Empty title="No endpoint yet">
                  <p>Give the URL of a server of yours. You get the secret that its messages are signed with.</p>
                </Empty>
              </Card>
            ) : (
              data.map((endpoint) => <EndpointCard key={endpoint.id} endpoint={endpoint} />)
            )}
            <Deliveries endpoints={data} />
          </>
        )}
      </Answer>
      {making ? <EndpointDialog onClose={() => setMaking(false)} /> : null}
    </>
  )
}
