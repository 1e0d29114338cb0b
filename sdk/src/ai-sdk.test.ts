import { APICallError, generateText, streamText } from 'ai'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../../test/app.ts'
import { chunk, streaming } from '../../test/mock-provider.ts'
import { createFareboxProvider } from './ai-sdk.ts'

let app: TestApp
beforeAll(async () => {
  app = await startTestApp()
})
afterAll(() => app.stop())

/** A provider for an account with these Credits, and how often it asked. */
async function providerWith(creditsMicro: bigint) {
  const { key } = await app.person({ creditsMicro })
  const asked = { times: 0 }
  const counting: typeof fetch = (url, init) => {
    asked.times += 1
    return fetch(url, init)
  }
  const farebox = createFareboxProvider({ baseUrl: app.url, apiKey: async () => key, fetch: counting })
  return { farebox, asked }
}

test('an answer has its cost in the metadata, streamed or not', async () => {
  const { farebox } = await providerWith(1_000_000n)
  const costs = { farebox: { costMicro: expect.any(Number) } }
  const { finalStep } = await generateText({ model: farebox('demo-chat'), prompt: 'hello' })
  expect(finalStep.providerMetadata).toMatchObject(costs)
  const streamed = streamText({ model: farebox('demo-chat'), prompt: 'hello' })
  expect(await streamed.text).toContain('hello')
  expect((await streamed.finalStep).providerMetadata).toMatchObject(costs)
})

test('402 has our message with its numbers, and is asked once', async () => {
  const { farebox, asked } = await providerWith(0n)
  const error = await generateText({ model: farebox('demo-chat'), prompt: 'hello' }).catch((error: unknown) => error)
  if (!APICallError.isInstance(error)) throw error
  expect(error.message).toMatch(/This call reserves up to/)
  expect(error.data).toMatchObject({ code: 'insufficient_credits', available_micro: '0' })
  expect(asked.times).toBe(1)
})

test('409 has our message, and is asked once', async () => {
  const { farebox, asked } = await providerWith(1_000_000n)
  const headers = { 'idempotency-key': 'same' }
  await generateText({ model: farebox('demo-chat'), prompt: 'one', headers })
  const again = generateText({ model: farebox('demo-chat'), prompt: 'two', headers })
  await expect(again).rejects.toMatchObject({ statusCode: 409, data: { code: 'idempotency_conflict' } })
  expect(asked.times).toBe(2)
})

test('an error inside a stream is an error with our message', async () => {
  const { farebox } = await providerWith(1_000_000n)
  app.mock.behaviour = streaming([chunk('a')], 'cut')
  const errors: unknown[] = []
  const { fullStream } = streamText({
    model: farebox('mock-model'),
    prompt: 'x',
    onError: ({ error }) => void errors.push(error),
  })
  for await (const part of fullStream) if (part.type === 'finish') expect(part.finishReason).toBe('error')
  expect(JSON.stringify(errors.map(String))).toMatch(/The provider's answer broke off/)
})
