import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { until } from '../../../test/app.ts'
import { freshDatabase, type TestDatabase } from '../../../test/database.ts'
import { ledgerFixture } from '../../../test/ledger-fixture.ts'
import { type Claimed, claimKey, settleLeftBehind } from './service.ts'

let database: TestDatabase
let make: ReturnType<typeof ledgerFixture>
let accountId: bigint
const trouble: string[] = []
beforeAll(async () => {
  database = await freshDatabase()
  make = ledgerFixture(database)
  accountId = await make.account('owner')
})
afterAll(() => database.drop())

const claim = (key: string, requestId: string, db = database.db, processId = 1n) =>
  claimKey(
    { db, processId, onTrouble: (message) => trouble.push(message) },
    { accountId, route: '/v1/chat/completions', key, body: { a: 1 }, requestId },
  )
async function first(...asked: Parameters<typeof claim>): Promise<Claimed> {
  const made = await claim(...asked)
  if (made.kind !== 'first') throw new Error('the key is taken')
  return made
}

test('an answer that cannot be kept while the database is away is kept when it is back, and nobody waits for that', async () => {
  let away = 2
  const db = database.db.withPlugin({
    transformQuery({ node }) {
      if (node.kind === 'UpdateQueryNode' && away-- > 0) throw new Error('the line broke')
      return node
    },
    transformResult: async ({ result }) => result,
  })
  const made = await first('away', 'req_away', db)
  await made.complete({ status: 200, headers: { 'x-a': 'b' }, body: 'charged' })
  await until(
    async () => (await claim('away', 'req_later').catch(() => undefined))?.kind === 'replay',
    'the answer is kept',
  )
  expect(away).toBe(-1)
  expect(await claim('away', 'req_again')).toEqual({
    kind: 'replay',
    answer: { status: 200, headers: { 'x-a': 'b' }, body: 'charged' },
  })
  expect(trouble).toEqual([])
})

test('an answer that cannot be kept at all is tried five more times, each later than the one before, and then told of', async () => {
  let tries = 0
  const db = database.db.withPlugin({
    transformQuery({ node }) {
      if (node.kind !== 'UpdateQueryNode') return node
      tries += 1
      throw new Error('the line broke')
    },
    transformResult: async ({ result }) => result,
  })
  const made = await first('never kept', 'req_never', db)
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  try {
    await made.complete({ status: 200, headers: {}, body: 'charged' })
    for (const [index, waitMs] of [500, 1000, 1500, 2000, 2500].entries()) {
      await vi.advanceTimersByTimeAsync(waitMs - 1)
      expect([tries, trouble]).toEqual([1 + index, []])
      await vi.advanceTimersByTimeAsync(1)
      expect(tries).toBe(2 + index)
    }
    await vi.advanceTimersByTimeAsync(60_000)
    expect([tries, trouble]).toEqual([6, ['the answer to an Idempotency-Key could not be kept']])
  } finally {
    vi.useRealTimers()
    trouble.length = 0
  }
})

test('an answer that is kept in the transaction of its work is there with the work, or neither is', async () => {
  const made = await first('with its work', 'req_task')
  const answer = { status: 202, headers: { 'x-a': 'b' }, body: 'accepted' }
  const undone = database.db.transaction().execute(async (tx) => {
    await made.completeIn(tx, answer)
    throw new Error('the work was not written')
  })
  await expect(undone).rejects.toThrow('not written')
  await expect(claim('with its work', 'req_early')).rejects.toMatchObject({
    code: 'request_in_progress',
    retryAfterMs: 1000,
    fields: { original_request_id: 'req_task' },
  })
  await database.db.transaction().execute((tx) => made.completeIn(tx, answer))
  expect(await claim('with its work', 'req_later')).toEqual({ kind: 'replay', answer })
})

test('a key that stands for another body names the request that has it', async () => {
  await first('taken', 'req_first')
  const other = claimKey(
    { db: database.db, processId: 1n, onTrouble: (message) => trouble.push(message) },
    { accountId, route: '/v1/chat/completions', key: 'taken', body: { a: 2 }, requestId: 'req_second' },
  )
  await expect(other).rejects.toMatchObject({
    code: 'idempotency_conflict',
    fields: { original_request_id: 'req_first' },
  })
})

test('what is written again, since the line broke after the first time, touches no claim that came since', async () => {
  const early = await first('freed twice', 'req_one')
  await early.forget()
  const running = await first('freed twice', 'req_two')
  await early.forget()
  await early.complete({ status: 200, headers: {}, body: 'of another request' })
  await expect(claim('freed twice', 'req_three')).rejects.toMatchObject({ code: 'request_in_progress' })
  await running.complete({ status: 200, headers: {}, body: 'its own' })
  expect(await claim('freed twice', 'req_four')).toMatchObject({ answer: { body: 'its own' } })
})

test('claims that a dead process left open are answered as interrupted where a call was begun, and free where none was and none can begin any more', async () => {
  const { db } = database
  await make.grant(accountId, 10n)
  const { id } = await make.hold(await make.key(accountId), 10n)
  await claim('begun', `req_${id}`, db, 4711n)
  await claim('not begun', 'req_none', db, 4711n)
  await claim('of another', 'req_other', db, 4712n)
  await settleLeftBehind(db, 4711n, { freesUnbegun: false })
  await expect(claim('not begun', 'req_new0')).rejects.toMatchObject({ code: 'request_in_progress' })
  await settleLeftBehind(db, 4711n, { freesUnbegun: true })
  expect(await claim('begun', 'req_new')).toMatchObject({
    kind: 'replay',
    answer: {
      status: 502,
      headers: { 'content-type': 'application/json; charset=utf-8' },
      // where to look what it cost
      body: expect.stringMatching(/its answer is lost\. GET \/v1\/calls shows/),
    },
  })
  expect(await claim('not begun', 'req_new2')).toMatchObject({ kind: 'first' })
  await expect(claim('of another', 'req_new3')).rejects.toMatchObject({ code: 'request_in_progress' })
})

test('a claim that is freed while a repeat looks for it is claimed by the repeat, not run without a claim', async () => {
  await claim('freed', 'req_first')
  const freeing = database.db.withPlugin({
    transformQuery: ({ node }) => node,
    // between the repeat's insert, which finds the key taken, and its look at who has it
    async transformResult({ result }) {
      if (result.numAffectedRows === 0n) await database.sql(`delete from idempotency_keys where key = 'freed'`)
      return result
    },
  })
  expect(await claim('freed', 'req_repeat', freeing)).toMatchObject({ kind: 'first' })
  await expect(claim('freed', 'req_third')).rejects.toMatchObject({ code: 'request_in_progress' })
})
