import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import { Badge, Button, Card, Copyable, ErrorCard, Notice, Time } from '../../ui/parts.tsx'
import { DELIVERIES, ENDPOINTS, type Endpoint } from './endpoint.ts'
import { EndpointDialog } from './endpoint-dialog.tsx'
import { RemoveDialog } from './remove-dialog.tsx'
import { RotateDialog } from './rotate-dialog.tsx'

const disabledBecause = {
  account: 'You turned it off.',
  gone: 'It answered 410, which says that it is gone.',
  failing: 'It failed for five days.',
} as const

/** An endpoint, and what can be done with it. */
export function EndpointCard({ endpoint }: { endpoint: Endpoint }) {
  const queries = useQueryClient()
  const [asking, setAsking] = useState<'change' | 'rotate' | 'remove'>()
  const close = () => setAsking(undefined)
  const renew = () => queries.invalidateQueries({ queryKey: [ENDPOINTS] })
  const path = `${ENDPOINTS}/${endpoint.id}`
  const test = useMutation({
    mutationFn: () => api(`${path}/test`, { method: 'POST', body: {} }),
    onSuccess: () => queries.invalidateQueries({ queryKey: [DELIVERIES] }),
  })
  const turn = useMutation({
    mutationFn: () => api(path, { method: 'PATCH', body: { enabled: !endpoint.enabled } }),
    onSuccess: renew,
  })
  const failure = test.error ?? turn.error
  return (
    <Card repeated title={endpoint.description || `Endpoint ${endpoint.id}`} actions={<State endpoint={endpoint} />}>
      {endpoint.disabled_reason ? (
        <Notice tone={endpoint.disabled_reason === 'account' ? 'neutral' : 'warn'}>
          <p>
            {disabledBecause[endpoint.disabled_reason]} Nothing is sent to it since{' '}
            <Time at={endpoint.disabled_at} relative />.
          </p>
        </Notice>
      ) : null}
      <dl className="facts">
        <dt>URL</dt>
        <dd>
          <Copyable text={endpoint.url} what="URL" whole />
        </dd>
        <dt>Hears of</dt>
        <dd>{endpoint.events.length === 0 ? 'everything' : endpoint.events.join(', ')}</dd>
        {endpoint.previous_secret_signs_until ? (
          <>
            <dt>Old secret</dt>
            <dd>
              signs too until <Time at={endpoint.previous_secret_signs_until} />
            </dd>
          </>
        ) : null}
      </dl>
      {failure ? <ErrorCard error={failure} /> : null}
      <div className="row">
        <Button small busy={test.isPending} disabled={!endpoint.enabled} onClick={() => test.mutate()}>
          Send a test
        </Button>
        <Button small onClick={() => setAsking('change')}>
          Change
        </Button>
        <Button small onClick={() => setAsking('rotate')}>
          New secret
        </Button>
        <Button small busy={turn.isPending} onClick={() => turn.mutate()}>
          {endpoint.enabled ? 'Turn off' : 'Turn on'}
        </Button>
        <Button small kind="danger" onClick={() => setAsking('remove')}>
          Remove
        </Button>
        {test.isSuccess ? (
          <span role="status" className="small quiet">
            A test is on its way: see the log below.
          </span>
        ) : null}
      </div>
      {asking === 'change' ? <EndpointDialog endpoint={endpoint} onClose={close} /> : null}
      {asking === 'rotate' ? <RotateDialog endpoint={endpoint} onClose={close} /> : null}
      {asking === 'remove' ? <RemoveDialog endpoint={endpoint} onClose={close} /> : null}
    </Card>
  )
}

function State({ endpoint }: { endpoint: Endpoint }) {
  if (!endpoint.enabled) return <Badge tone="bad">Off</Badge>
  if (endpoint.failing_since)
    return (
      <Badge tone="warn">
        <span>
          Failing since <Time at={endpoint.failing_since} relative />
        </span>
      </Badge>
    )
  return <Badge tone="good">On</Badge>
}
