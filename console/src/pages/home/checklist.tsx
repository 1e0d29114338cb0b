import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { api } from '../../api/client.ts'
import type { Reply } from '../../api/types.ts'
import { Badge, Card } from '../../ui/parts.tsx'
import { Failure } from '../../ui/query.tsx'

/** The first three steps, ticked off as they are taken; gone once all are. */
export function Checklist({ hasCredits }: { hasCredits: boolean }) {
  const keys = useQuery({
    queryKey: ['keys'],
    queryFn: ({ signal }) => api<Reply<'/v1/me/api-keys', 'get'>>('/v1/me/api-keys', { signal }),
  })
  const calls = useQuery({
    queryKey: ['any call'],
    queryFn: ({ signal }) => api<Reply<'/v1/calls', 'get'>>('/v1/calls?limit=1', { signal }),
  })
  if (!keys.data || !calls.data)
    return (
      <>
        <Failure query={keys} />
        <Failure query={calls} />
      </>
    )
  const steps = [
    { done: hasCredits, to: '/topup', words: 'Buy your first Credits' },
    { done: keys.data.keys.length > 0, to: '/console/keys', words: 'Create an API key' },
    {
      done: calls.data.data.length > 0,
      to: '/console/capabilities',
      words: 'Make a first call: from a terminal as below, or with a capability',
    },
  ]
  if (steps.every(({ done }) => done)) return null
  return (
    <Card title="To begin with">
      <ol className="timeline">
        {steps.map(({ done, to, words }) => (
          <li key={to}>
            {done ? (
              <span className="quiet">
                {words} <Badge tone="good">Done</Badge>
              </span>
            ) : (
              <Link to={to}>{words}</Link>
            )}
          </li>
        ))}
      </ol>
    </Card>
  )
}
