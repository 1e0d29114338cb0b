import { afterAll, beforeAll, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../../test/database.ts'
import { ledgerFixture } from '../../../test/ledger-fixture.ts'
import { Fault } from '../../kernel/errors.ts'
import { once } from './once.ts'
import { REPLAY_BYTES_MAX, type StoredAnswer } from './service.ts'

let database: TestDatabase
let accountId: bigint
beforeAll(async () => {
  database = await freshDatabase()
  accountId = await ledgerFixture(database).account('owner')
})
afterAll(() => database.drop())

let requests = 0
let confirmed = 0
/** Asks under a key; gives what was answered, or replayed. */
function ask(key: string | undefined, run: () => Promise<string>): Promise<string | StoredAnswer> {
  requests += 1
  return once<string | StoredAnswer>(
    { db: database.db, processId: 1n, onTrouble: () => undefined },
    {
      accountId,
      requestId: `req_${requests}`,
      route: '/v1/images',
      key,
      body: { a: 1 },
      confirmCredential: async () => {
        confirmed += 1
      },
    },
    {
      async run(claimed) {
        const body = await run()
        await claimed?.complete({ status: 200, headers: { 'x-a': 'b' }, body })
        return body
      },
      replay: (answer) => answer,
    },
  )
}
const failing = (error: unknown) => () => Promise.reject(error)

test('a request without a key runs every time, and claims nothing', async () => {
  for (const answer of ['first', 'second']) expect(await ask(undefined, async () => answer)).toBe(answer)
  expect(await database.sql('select key from idempotency_keys')).toEqual([])
})

test('a repeat gets the answer with its headers and a word that it is one, once its credential is confirmed', async () => {
  confirmed = 0
  expect(await ask('repeated', async () => 'done')).toBe('done')
  expect(confirmed).toBe(0)
  expect(await ask('repeated', failing('run twice'))).toEqual({
    status: 200,
    headers: { 'x-a': 'b', 'idempotent-replayed': 'true' },
    body: 'done',
  })
  expect(confirmed).toBe(1)
})

test.each([
  ['of a task that was begun', new Fault('overloaded', { fields: { task_id: '7' }, retryAfterMs: 2000 }), 'overloaded'],
  ['of a provider that did not answer in time', new Fault('upstream_timeout'), 'upstream_timeout'],
  ['of ours', new Fault('internal_error'), 'internal_error'],
  ['that nobody foresaw', new TypeError('of the server'), 'internal_error'],
])('a refusal %s is the answer for good: money or work may be left behind it', async (_of, error, code) => {
  await expect(ask(`final ${_of}`, failing(error))).rejects.toBe(error)
  const refusal = error instanceof Fault ? error : new Fault(code as 'internal_error')
  const again = (await ask(`final ${_of}`, failing('run twice'))) as StoredAnswer
  expect(again).toEqual({
    status: refusal.refusal.status,
    headers: {
      ...refusal.headers,
      'content-type': 'application/json; charset=utf-8',
      'idempotent-replayed': 'true',
    },
    body: expect.any(String),
  })
  expect(JSON.parse(again.body)).toMatchObject({ code, request_id: `req_${requests - 1}` })
})

test('a refusal that charged nothing frees the key', async () => {
  const refused = new Fault('overloaded')
  await expect(ask('free', failing(refused))).rejects.toBe(refused)
  expect(await ask('free', async () => 'done')).toBe('done')
})

test('an answer of the greatest length is kept, and one that is a character longer is not', async () => {
  await ask('long', async () => 'x'.repeat(REPLAY_BYTES_MAX))
  expect(((await ask('long', failing('run twice'))) as StoredAnswer).body).toHaveLength(REPLAY_BYTES_MAX)
  await ask('longer', async () => 'x'.repeat(REPLAY_BYTES_MAX + 1))
  const repeat = (await ask('longer', failing('run twice'))) as StoredAnswer
  expect(repeat).toMatchObject({ status: 409, headers: { 'content-type': 'application/json; charset=utf-8' } })
  expect(JSON.parse(repeat.body)).toMatchObject({ code: 'answer_not_kept' })
})
