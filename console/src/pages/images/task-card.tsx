import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useEffect } from 'react'
import { api } from '../../api/client.ts'
import { Badge, Button, Card, Copyable, Credits, ErrorCard, Time } from '../../ui/parts.tsx'
import { isOpen, type Picture, picturesOf, promptOf, type Task } from './task.ts'

const states = {
  waiting: { words: 'Waiting', tone: 'accent' },
  queuing: { words: 'In the provider’s queue', tone: 'accent' },
  generating: { words: 'Being made', tone: 'accent' },
  success: { words: 'Done', tone: 'good' },
  fail: { words: 'Failed', tone: 'bad' },
  canceled: { words: 'Canceled', tone: 'neutral' },
} as const

/** A task: how far it is, what came of it and what it cost. While it is open it is asked as often as the server wants. */
export function TaskCard({ listed }: { listed: Task }) {
  const queries = useQueryClient()
  const current = useQuery({
    queryKey: ['task', listed.task_id],
    queryFn: ({ signal }) => api<Task>(`/v1/tasks/${listed.task_id}`, { signal }),
    enabled: isOpen(listed),
    refetchInterval: ({ state: { data = listed } }) => (isOpen(data) ? data.recommended_poll_interval_ms : false),
  })
  const cancel = useMutation({
    mutationFn: () => api<Task>(`/v1/tasks/${listed.task_id}/cancel`, { method: 'POST', body: {} }),
    onSuccess: (task) => queries.setQueryData(['task', listed.task_id], task),
  })
  const task = isOpen(listed) ? (current.data ?? listed) : listed
  const done = isOpen(listed) && !isOpen(task)
  useEffect(() => {
    if (!done) return
    for (const key of ['/v1/tasks', 'balance']) void queries.invalidateQueries({ queryKey: [key] })
  }, [done, queries])
  const { words, tone } = states[task.state]
  return (
    <Card repeated title={promptOf(task) || 'Without words'} actions={<Badge tone={tone}>{words}</Badge>}>
      {isOpen(task) ? <Underway task={task} /> : null}
      {picturesOf(task).map((picture) => (
        <Shown key={picture.path} picture={picture} prompt={promptOf(task)} />
      ))}
      {task.error.message ? <p>{task.error.message}</p> : null}
      <Cost task={task} />
      <p className="small quiet">
        {task.model}, <Time at={new Date(task.created_at * 1000).toISOString()} />
      </p>
      <span className="small">
        <Copyable text={task.task_id} what="task id" />
      </span>
      {cancel.error ? <ErrorCard error={cancel.error} /> : null}
      {isOpen(task) && !task.cancel_requested ? (
        <div>
          <Button small busy={cancel.isPending} onClick={() => cancel.mutate()}>
            Cancel
          </Button>
        </div>
      ) : null}
    </Card>
  )
}

function Underway({ task }: { task: Task }) {
  return (
    <div className="stack-tight">
      <progress aria-label="Progress" max={100} value={task.progress} />
      <span className="small quiet">
        {task.progress} %.{' '}
        {task.cancel_requested
          ? 'The provider was asked to stop.'
          : `Usually about ${task.eta_hint_seconds} ${task.eta_hint_seconds === 1 ? 'second' : 'seconds'}.`}{' '}
        It goes on when you leave this page.
      </span>
    </div>
  )
}

function Shown({ picture, prompt }: { picture: Picture; prompt: string }) {
  if (picture.expiresAt < Date.now())
    return <p className="quiet">This picture is no longer kept. It was deleted at the end of its time.</p>
  return (
    <figure className="stack-tight">
      <a href={picture.path} target="_blank" rel="noreferrer">
        <img
          className="picture"
          src={picture.path}
          alt={prompt}
          width={picture.width}
          height={picture.height}
          loading="lazy"
        />
      </a>
      <figcaption className="row-between small">
        <span className="quiet">
          Kept until <Time at={new Date(picture.expiresAt).toISOString()} />
        </span>
        <a href={`${picture.path}&download=1`} download>
          Download
        </a>
      </figcaption>
    </figure>
  )
}

/** What it cost, or that this is not known, in words that cannot be taken for one another. */
function Cost({ task: { billing, state } }: { task: Task }) {
  if (billing.status === 'released') return <p>Nothing was charged.</p>
  if (billing.status === 'usage_unknown')
    return (
      <p>
        <Badge tone="warn">Cost unknown, not free</Badge> <Credits micro={billing.reserve_amount_micro} /> stay held.{' '}
        <Link to="/console/settlements">See settlements</Link>
      </p>
    )
  if (billing.status === 'reserved')
    return (
      <p className="quiet">
        <Credits micro={billing.reserve_amount_micro} /> held
      </p>
    )
  return (
    <p>
      <Credits micro={billing.actual_amount_micro ?? 0} /> charged.
      {state === 'success' ? null : (
        <>
          {' '}
          It can be refunded:{' '}
          <Link to="/console/requests" search={{ status: 'failed' }}>
            failed calls
          </Link>
        </>
      )}
    </p>
  )
}
