import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { framesOf, type Person, startTestApp, type TestApp, until } from '../../../test/app.ts'
import { answering, chunk, closing, gated, silent, usageOf, write } from '../../../test/mock-provider.ts'

let app: TestApp
let person: Person

beforeEach(async () => {
  app = await startTestApp({ databaseThroughProxy: true })
  person = await app.person()
})
afterEach(() => app.stop())

describe('while the database is away', () => {
  test('calls are a 503 with Retry-After, no provider is asked, and they work again once it is back', async () => {
    expect((await app.chat(person)).status).toBe(200)
    app.databaseLine.cut()
    for (const headers of [{}, { 'idempotency-key': 'away' }] as Record<string, string>[]) {
      for (const stream of [false, true]) {
        const answer = await app.chat(person, { stream }, headers)
        expect([answer.status, answer.json.error, answer.headers.get('retry-after')]).toEqual([503, 'unavailable', '1'])
        expect(answer.headers.get('retry-after-ms')).toBe('1000')
      }
    }
    expect((await app.post('/v1/chat/completions', { model: 'mock-model' }, person)).status).toBe(503)
    const ready = await fetch(`${app.url}/readyz`)
    expect(ready.status).toBe(503)
    expect((await fetch(`${app.url}/healthz`)).status).toBe(200)
    expect(app.mock.calls.length).toBe(1)
    app.databaseLine.restore()
    await until(async () => (await app.chat(person)).status === 200, 'calls work again')
    await until(async () => (await app.balance(person)).heldMicro === 0n, 'nothing stays held')
    const charged = (await app.holds(person)).filter(({ kind }) => kind === 'captured').length
    expect(app.mock.calls.length).toBe(charged)
    expect((await app.balance(person)).postedMicro).toBe(10_000_000n - 65n * BigInt(charged))
    expect(await app.audit()).toEqual([])
  })

  test('a call whose answer is already there waits for its capture and is charged once', async () => {
    const { behaviour, open } = gated(answering())
    app.mock.behaviour = behaviour
    const asked = app.chat(person, {}, { 'idempotency-key': 'through' })
    await app.mock.arrived(1)
    app.databaseLine.cut()
    open()
    await until(() => app.app.ledger.applier.failing, 'the server notices')
    app.databaseLine.restore()
    const answer = await asked
    expect([answer.status, answer.headers.get('x-credits-charged-micro')]).toEqual([200, '65'])
    expect(await app.balance(person)).toEqual({ postedMicro: 10_000_000n - 65n, heldMicro: 0n })
    await until(
      async () =>
        (await app.chat(person, {}, { 'idempotency-key': 'through' })).headers.get('idempotent-replayed') === 'true',
      'the answer is kept',
    )
    expect(await app.audit()).toEqual([])
  })
})

describe('while the server goes down', () => {
  /** A stream that has sent its first frame and waits for `go`. */
  async function openStream(): Promise<{ go: () => void; rest: Promise<string> }> {
    const gate = Promise.withResolvers<void>()
    app.mock.behaviour = async (call) => {
      call.response.writeHead(200, { 'content-type': 'text/event-stream' })
      await write(call.response, `data: ${JSON.stringify(chunk('first'))}\n\n`)
      await gate.promise
      await write(
        call.response,
        `data: ${JSON.stringify(chunk('last'))}\n\ndata: ${JSON.stringify(closing(usageOf(10, 5)))}\n\n`,
      )
      call.response.end('data: [DONE]\n\n')
    }
    const response = await fetch(`${app.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${person.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'mock-model', stream: true, messages: [{ role: 'user', content: 'x' }] }),
    })
    return { go: gate.resolve, rest: response.text() }
  }

  test('a stream that runs goes on to its end and is charged, and new calls are refused', async () => {
    const { go, rest } = await openStream()
    const stopped = app.app.stop(10_000)
    await until(async () => {
      const refused = await app.chat(person).then(
        ({ status, json }) => status === 503 && json.error === 'shutting_down',
        () => true,
      )
      return refused
    }, 'new calls are refused')
    go()
    const frames = framesOf(await rest)
    expect(frames.at(-1)).toEqual({ done: true })
    await stopped
    expect(await app.holds(person)).toMatchObject([{ kind: 'captured', outcome: 'success', actual_micro: 65n }])
    expect(await app.audit()).toEqual([])
  })

  test('what still runs at the drain limit becomes usage_unknown, said in the stream: never free', async () => {
    const { rest } = await openStream()
    const plain = (async () => {
      app.mock.next(silent)
      return app.chat(person)
    })()
    await app.mock.arrived(2)
    await app.app.stop(50)
    const frames = framesOf(await rest)
    expect(frames.at(-1)).toMatchObject({ error: { code: 'upstream_interrupted' } })
    expect([(await plain).status, (await plain).json.error]).toEqual([504, 'upstream_timeout'])
    const holds = await app.holds(person)
    expect(holds).toMatchObject([
      { kind: null, flag: 'usage_unknown' },
      { kind: null, flag: 'usage_unknown' },
    ])
    expect((await app.balance(person)).heldMicro).toBe(
      holds.reduce((sum, { reserve_micro }) => sum + reserve_micro, 0n),
    )
    expect(await app.audit()).toEqual([])
  })
})
