import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { api } from '../../api/client.ts'
import type { Reply } from '../../api/types.ts'
import { CodeBlock, Credits, Notice } from '../../ui/parts.tsx'
import { Answer } from '../../ui/query.tsx'
import type { Invoked } from './operation.ts'

type Task = Reply<'/v1/tasks/{id}', 'get'>

const POLL_MS = 1_000
const ended: ReadonlySet<string> = new Set(['success', 'fail', 'canceled'])

/** What came of a call: its answer, what was charged, and where the call is listed. Of an asynchronous one, its task until it is done. */
export function InvokedAnswer({ invoked }: { invoked: Invoked }) {
  const task = (invoked.data as { task_id?: unknown } | null)?.task_id
  if (invoked.mode === 'async' && typeof task === 'string') return <TaskAnswer taskId={task} invoked={invoked} />
  return (
    <Shown
      title="It answered"
      data={invoked.data}
      invoked={invoked}
      charged={invoked.billing.actual_amount_micro}
      held={invoked.billing.reserve_amount_micro}
    />
  )
}

function TaskAnswer({ taskId, invoked }: { taskId: string; invoked: Invoked }) {
  const task = useQuery({
    queryKey: ['/v1/tasks', taskId],
    queryFn: ({ signal }) => api<Task>(`/v1/tasks/${taskId}`, { signal }),
    refetchInterval: ({ state }) => (state.data && ended.has(state.data.state) ? false : POLL_MS),
  })
  return (
    <Answer query={task}>
      {({ state, result, error, billing }) =>
        ended.has(state) ? (
          <Shown
            title={state === 'success' ? 'The task is done' : 'The task failed'}
            data={state === 'success' ? result : error}
            invoked={invoked}
            charged={billing?.actual_amount_micro ?? null}
            held={billing?.reserve_amount_micro ?? 0}
          />
        ) : (
          <Notice tone="neutral" title="The task is on its way">
            <p role="status">
              It goes on when you leave this page. Task <code>{taskId}</code>, {state}.
            </p>
          </Notice>
        )
      }
    </Answer>
  )
}

function Shown({
  title,
  data,
  invoked: { request_id: requestId, billing },
  charged,
  held,
}: {
  title: string
  data: unknown
  invoked: Invoked
  charged: number | null
  held: number
}) {
  return (
    <section className="stack-tight" aria-label={title}>
      <p role="status">
        <strong>{title}.</strong> <Charge charged={charged} held={held} />{' '}
        {billing.call_id === undefined ? null : <CallLink requestId={requestId}>See call {billing.call_id}</CallLink>}
      </p>
      <CodeBlock what="the answer" text={JSON.stringify(data, null, 2)} />
    </section>
  )
}

function Charge({ charged, held }: { charged: number | null; held: number }) {
  if (charged === 0) return <>Nothing was charged.</>
  if (charged !== null)
    return (
      <>
        <Credits micro={charged} /> charged.
      </>
    )
  return (
    <>
      Its cost is not known yet, <Credits micro={held} /> stay held.
    </>
  )
}

const CallLink = ({ requestId, children }: { requestId: string; children: ReactNode }) => (
  <Link to="/console/requests" search={{ request_id: requestId } as never}>
    {children}
  </Link>
)
