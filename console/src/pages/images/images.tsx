import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import type { Reply } from '../../api/types.ts'
import { List, useList } from '../../ui/list.tsx'
import { Button, Card, Empty, PageHead } from '../../ui/parts.tsx'
import { Answer } from '../../ui/query.tsx'
import { MakeForm } from './make-form.tsx'
import type { Task } from './task.ts'
import { TaskCard } from './task-card.tsx'

const samples = ['A lighthouse at night', 'A fox in the snow, as a woodcut', 'A tram on a hill, in watercolours']

/** Makes pictures, and shows those that are there. */
export function Images() {
  const models = useQuery({
    queryKey: ['models'],
    queryFn: ({ signal }) => api<Reply<'/v1/models', 'get'>>('/v1/models', { signal }),
  })
  const tasks = useList<Task>('/v1/tasks', { type: 'image' }, { cursor: 'cursor', limit: 12 })
  const [prompt, setPrompt] = useState('')
  return (
    <>
      <PageHead title="Images">
        A picture from a few words. Its price is held first, and charged only for what was made.
      </PageHead>
      <Answer query={models} lines={5}>
        {({ data }) => {
          const usable = data.filter((model) => model.enabled && model.modalities.includes('image'))
          return usable.length === 0 ? (
            <Card>
              <Empty title="No model here makes pictures">
                <p>The operator has enabled none.</p>
              </Empty>
            </Card>
          ) : (
            <MakeForm models={usable} prompt={prompt} onPrompt={setPrompt} />
          )
        }}
      </Answer>
      <List
        list={tasks}
        empty={
          <Card>
            <Empty title="No pictures yet">
              <p>Take one of these, or write your own.</p>
              <div className="row">
                {samples.map((sample) => (
                  <Button key={sample} small onClick={() => setPrompt(sample)}>
                    {sample}
                  </Button>
                ))}
              </div>
            </Empty>
          </Card>
        }
      >
        {(rows) => (
          <section aria-label="Your pictures" className="gallery">
            {rows.map((task) => (
              <TaskCard key={task.task_id} listed={task} />
            ))}
          </section>
        )}
      </List>
    </>
  )
}
