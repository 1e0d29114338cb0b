import { useQuery } from '@tanstack/react-query'
import { api } from '../../api/client.ts'
import type { Reply } from '../../api/types.ts'
import { bucketName } from '../../ui/format.ts'
import { Credits } from '../../ui/parts.tsx'
import { Answer } from '../../ui/query.tsx'

/** Where the Credits of a refunded call are again: each part is where it was taken from. */
export function WentBack({ callId }: { callId: number }) {
  const call = useQuery({
    queryKey: ['/v1/calls', callId],
    queryFn: ({ signal }) => api<Reply<'/v1/calls/{id}', 'get'>>(`/v1/calls/${callId}`, { signal }),
  })
  return (
    <Answer query={call} lines={1}>
      {({ data }) => {
        const others = (data.actual_amount_micro ?? 0) - data.charged_micro
        return (
          <ul>
            {data.funding
              .filter((part) => part.amount_micro > 0)
              .map((part) => (
                <li key={`${part.account_id} ${part.bucket}`}>
                  <Credits micro={part.amount_micro} /> to account {part.account_id}, as{' '}
                  {bucketName(part.bucket).toLowerCase()} Credits
                </li>
              ))}
            {others > 0 ? (
              <li>
                <Credits micro={others} /> to the owner that had paid them
              </li>
            ) : null}
          </ul>
        )
      }}
    </Answer>
  )
}
