import { expect, test } from 'vitest'
import { type Reply, refusal, scripted } from './answers.fixture.ts'

const apiKey = 'a key'
const task = (state: string): Reply => ({
  status: 200,
  body: { task_id: 'task_1', state, recommended_poll_interval_ms: 1_500 },
})
/** Each answer so many times: a read is tried three times by itself. */
const inOrder = (...replies: (readonly [times: number, reply: Reply])[]) => {
  const all = replies.flatMap(([times, reply]) => Array.from({ length: times }, () => reply))
  let next = 0
  return () => all[Math.min(next++, all.length - 1)] ?? 'lost'
}

test('a task is followed at the pace of the server, over a restart of it', async () => {
  const { farebox, sleptMs } = scripted(
    inOrder([1, task('queuing')], [6, 'lost'], [3, refusal(503, 'unavailable')], [1, task('success')]),
    { apiKey },
  )
  const seen: string[] = []
  expect(await farebox.tasks.wait('task_1', { onProgress: ({ state }) => seen.push(state) })).toMatchObject({
    state: 'success',
  })
  expect(seen).toEqual(['queuing', 'success'])
  expect(sleptMs[0]).toBe(1_500)
})

test('a server that stays away is given up after two minutes, and a refusal at once', async () => {
  const away = scripted(() => 'lost', { apiKey })
  await expect(away.farebox.tasks.wait('task_1')).rejects.toMatchObject({ code: 'no_answer' })
  const betweenLooks = away.sleptMs.filter((ms) => ms === 2_000)
  expect(betweenLooks).toHaveLength(60)
  const refused = scripted(() => refusal(404, 'task_not_found'), { apiKey })
  await expect(refused.farebox.tasks.wait('task_1')).rejects.toMatchObject({ code: 'task_not_found' })
  expect(refused.sent).toHaveLength(1)
})

test('an order is followed over a restart, too', async () => {
  const { farebox } = scripted(inOrder([3, 'lost'], [1, { status: 200, body: { data: { status: 'completed' } } }]), {
    apiKey,
  })
  expect((await farebox.orders.wait('1')).status).toBe('completed')
})

test('whoever wants no more is not kept waiting', async () => {
  const { farebox } = scripted(() => 'lost', { apiKey, tries: 1 })
  const signal = AbortSignal.abort(new Error('enough'))
  await expect(farebox.tasks.wait('task_1', { signal })).rejects.toBeDefined()
})
