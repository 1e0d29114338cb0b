import { expect, test } from 'vitest'
import { type Reply, refusal, scripted } from './answers.fixture.ts'
import {
  AuthenticationError,
  ConflictError,
  FareboxError,
  InsufficientCreditsError,
  PaymentRejectedError,
  PermissionError,
  RateLimitError,
  UnavailableError,
} from './errors.ts'

const apiKey = 'a key'
const messages = [{ role: 'user', content: 'hello' }]
const body = { model: 'm', messages }
/** Gives these answers, the last of them for ever. */
const inOrder = (...replies: Reply[]) => {
  let next = 0
  return () => replies[Math.min(next++, replies.length - 1)] ?? 'lost'
}

test.each([
  [401, 'unauthorized', AuthenticationError],
  [402, 'insufficient_credits', InsufficientCreditsError],
  [402, 'payment_rejected', PaymentRejectedError],
  [403, 'account_banned', PermissionError],
  [404, 'not_found', FareboxError],
  [409, 'idempotency_conflict', ConflictError],
  [504, 'upstream_timeout', UnavailableError],
])('a refusal with %i %s is its own error and sent once', async (status, code, Class) => {
  const { farebox, sent } = scripted(() => refusal(status, code), { apiKey })
  const error = await farebox.chat(body).catch((error: unknown) => error)
  expect(error).toBeInstanceOf(Class)
  expect(error).toMatchObject({ status, code, requestId: 'req_1', message: `It is ${code}.` })
  expect(sent).toHaveLength(1)
})

test.each([
  [429, 'rate_limited', RateLimitError],
  [503, 'unavailable', UnavailableError],
])('a %i is tried three times, as late as the server asks', async (status, code, Class) => {
  const { farebox, sent, sleptMs } = scripted(() => refusal(status, code, { 'retry-after': '7' }), { apiKey })
  await expect(farebox.credits.balance()).rejects.toBeInstanceOf(Class)
  expect([sent.length, sleptMs]).toEqual([3, [7000, 7000]])
})

test('milliseconds to wait win over seconds, and who must wait too long hears of it at once', async () => {
  const precise = scripted(
    inOrder(refusal(429, 'rate_limited', { 'retry-after': '2', 'retry-after-ms': '1500' }), { status: 200 }),
    { apiKey },
  )
  await precise.farebox.credits.balance()
  expect(precise.sleptMs).toEqual([1500])
  const long = scripted(() => refusal(429, 'rate_limited', { 'retry-after': '3600' }), { apiKey })
  await expect(long.farebox.credits.balance()).rejects.toMatchObject({ retryAfterMs: 3_600_000 })
  expect(long.sleptMs).toEqual([])
})

test('a call whose answer is lost is sent again under the same key, and one still at work is waited for', async () => {
  const working = refusal(409, 'request_in_progress', { 'retry-after': '1' })
  const replies = inOrder('lost', working, working, working, working, { status: 200, body: { done: true } })
  const { farebox, sent, sleptMs } = scripted(replies, { apiKey })
  expect(await farebox.chat(body)).toEqual({ done: true })
  expect(new Set(sent.map(({ headers }) => headers.get('idempotency-key'))).size).toBe(1)
  expect(sleptMs.slice(1)).toEqual([1000, 1000, 1000, 1000])
})

test('two calls have two keys, and a key that was given is used', async () => {
  const { farebox, sent } = scripted(() => ({ status: 200 }), { apiKey })
  await farebox.chat(body)
  await farebox.tasks.image({ model: 'm', prompt: 'p' })
  await farebox.chat(body, { idempotencyKey: 'mine' })
  const keys = sent.map(({ headers }) => headers.get('idempotency-key'))
  expect(new Set(keys).size).toBe(3)
  expect(keys[2]).toBe('mine')
})

test('a write without a key is never repeated', async () => {
  const { farebox, sent } = scripted(() => 'lost', { apiKey })
  const url = 'https://example.com/hooks'
  await expect(farebox.request('POST', '/v1/me/webhooks', { body: { url } })).rejects.toBeInstanceOf(UnavailableError)
  expect(sent).toHaveLength(1)
})

test('an answer that breaks off is an answer that was lost', async () => {
  let tries = 0
  const { farebox } = scripted(() => ({ status: 200 }), {
    apiKey,
    async fetch() {
      tries += 1
      const broken = new ReadableStream({ start: (controller) => controller.error(new Error('cut')) })
      return tries === 1 ? new Response(broken) : Response.json({ available_micro: 1 })
    },
  })
  expect(await farebox.credits.balance()).toEqual({ available_micro: 1 })
})

test('a caller who wants no more is left alone', async () => {
  const { farebox, sent } = scripted(() => 'lost', { apiKey })
  const signal = AbortSignal.abort(new Error('enough'))
  await expect(farebox.chat(body, { signal })).rejects.not.toBeInstanceOf(UnavailableError)
  expect(sent.length).toBeLessThanOrEqual(1)
})

test('lists are read page by page to their end, and only as far as somebody reads', async () => {
  const page = (ids: number[], next: number): Reply => ({
    status: 200,
    body: { data: ids.map((id) => ({ id })), next_cursor: next },
  })
  const { farebox, sent } = scripted(inOrder(page([5, 4], 4), page([3], 0)), { apiKey })
  const ids: number[] = []
  for await (const { id } of farebox.credits.statement({ from: '2026-01-01T00:00:00Z' })) ids.push(id)
  expect(ids).toEqual([5, 4, 3])
  expect(sent.map(({ path }) => path)).toEqual([
    '/v1/credits/ledger?limit=100&from=2026-01-01T00%3A00%3A00Z',
    '/v1/credits/ledger?limit=100&before_id=4&from=2026-01-01T00%3A00%3A00Z',
  ])
})

test('a task is asked for as often as the server recommends, and its failure is an answer', async () => {
  const task = (state: string, ms: number): Reply => ({
    status: 200,
    body: { task_id: 't', state, recommended_poll_interval_ms: ms },
  })
  const { farebox, sleptMs } = scripted(inOrder(task('waiting', 1000), task('generating', 4000), task('fail', 1000)), {
    apiKey,
  })
  const seen: string[] = []
  expect(await farebox.tasks.wait('t', { onProgress: ({ state }) => seen.push(state) })).toMatchObject({
    state: 'fail',
  })
  expect([sleptMs, seen]).toEqual([
    [1000, 4000],
    ['waiting', 'generating', 'fail'],
  ])
})

test('a stream may take its time, and one that falls silent is cut', async () => {
  const piece = new TextEncoder().encode('data: {"choices":[{"delta":{"content":"a"}}]}\n\n')
  const { farebox } = scripted(() => ({ status: 200 }), {
    apiKey,
    timeoutMs: 20,
    fetch: async (_, init) =>
      new Response(
        new ReadableStream({
          start(controller) {
            controller.enqueue(piece)
            controller.enqueue(piece)
            init?.signal?.addEventListener('abort', () => controller.error(init.signal?.reason))
          },
        }),
      ),
  })
  const texts: string[] = []
  const reading = (async () => {
    for await (const { text } of farebox.chatStream(body)) {
      texts.push(text)
      await new Promise((resolve) => setTimeout(resolve, 60))
    }
  })()
  await expect(reading).rejects.toMatchObject({ name: 'UnavailableError', message: expect.stringMatching(/was cut/) })
  expect(texts).toEqual(['a', 'a'])
})

test('a server that lets ask again at once is asked with a pause, and not for ever', async () => {
  const busy = refusal(409, 'request_in_progress', { 'retry-after': '0' })
  const { farebox, sleptMs } = scripted(() => busy, { apiKey, timeoutMs: 1_000 })
  await expect(farebox.chat(body)).rejects.toMatchObject({ code: 'request_in_progress' })
  expect(sleptMs).toEqual(Array.from({ length: 20 }, () => 50))
})
