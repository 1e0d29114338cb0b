import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Answer, type Person, readAnswer, startTestApp, type TestApp, until } from '../../../test/app.ts'
import { MEDIA_MODELS, scriptedMedia } from '../../../test/tasks/media.ts'

const media = scriptedMedia()
const { mock } = media
let app: TestApp
let person: Person

beforeAll(async () => {
  app = await startTestApp({ mediaModels: MEDIA_MODELS, media: media.parts })
})
afterAll(() => app.stop())
beforeEach(async () => {
  person = await app.person()
  Object.assign(mock, { eager: false, findable: false, script: undefined })
  for (const seen of [mock.submissions, mock.polls, mock.cancels]) seen.length = 0
})

const make = (fields: object = {}): Promise<Answer> =>
  app.post('/v1/images/generations', { model: 'image', prompt: 'x', ...fields }, person)
const get = async (path: string, headers: Record<string, string> = {}, who = person): Promise<Answer> =>
  readAnswer(await fetch(app.url + path, { headers: { authorization: `Bearer ${who.key}`, ...headers } }))
const ended = async (task: Answer): Promise<Answer['json']> => (await get(`${task.json.poll_url}?wait=30`)).json
const evidenceOf = async (task: Answer): Promise<object | undefined> => {
  const [flag] = await app.database.sql<{ evidence: object }>(
    'select f.evidence from hold_flags f join tasks t on t.hold_id = f.hold_id where t.request_id = $1',
    [task.json.request_id],
  )
  return flag?.evidence
}
const untouched = { postedMicro: 10_000_000n, heldMicro: 0n }
const charged = { postedMicro: 9_960_000n, heldMicro: 0n }

describe('what cannot be known', () => {
  test('a lost submission is not sent again, holds its money as unknown, and is settled by a late callback', async () => {
    mock.script = () => ({ kind: 'lost', message: 'the line broke' })
    const task = await make()
    await until(async () => billingOf(await get(String(task.json.poll_url))) === 'usage_unknown', 'it is unknown')
    const { callbackUrl, attemptId } = mock.submissions[0] ?? {}
    expect((await get(String(task.json.poll_url))).json).toMatchObject({ state: 'queuing', error: {} })
    expect((await app.holds(person))[0]?.flag).toBe('usage_unknown')
    const report = (headers: Record<string, string>, path = new URL(String(callbackUrl)).pathname) =>
      app.post(path, { job: `job-${attemptId}`, end: 'made' }, undefined, headers)
    expect((await report({ 'x-provider': 'forged' })).json.code).toBe('not_found')
    expect((await report({ 'x-provider': 'genuine' }, `/v1/callbacks/${'0'.repeat(64)}`)).json.code).toBe('not_found')
    expect((await report({ 'x-provider': 'genuine' })).json).toEqual({ ok: true })
    expect(await ended(task)).toMatchObject({ state: 'success', billing: { status: 'committed' } })
    expect((await report({ 'x-provider': 'genuine' })).json).toEqual({ ok: true })
    expect(mock.submissions).toHaveLength(1)
    expect(await app.balance(person)).toEqual(charged)
  })

  test('a lost submission that can be looked for is found and goes on, submitted once', async () => {
    Object.assign(mock, { findable: true, eager: true, script: () => ({ kind: 'lost', message: 'the line broke' }) })
    const task = await make()
    expect(await ended(task)).toMatchObject({ state: 'success', billing: { status: 'committed' } })
    expect(mock.submissions).toHaveLength(1)
  })

  test('our own timeout fails nothing: the money is unknown, and a late result still arrives and is charged', async () => {
    const task = await app.post('/v1/videos/generations', { model: 'clip', prompt: 'x' }, person)
    await until(
      async () => billingOf(await get(String(task.json.poll_url))) === 'usage_unknown',
      'our patience is over',
    )
    expect((await get(String(task.json.poll_url))).json.state).toBe('generating')
    // for whoever looks it up at the provider: ids, and nothing that was said
    expect(await evidenceOf(task)).toEqual({
      task_id: task.json.task_id,
      provider: 'mock',
      model: 'director',
      provider_job_id: `job-${mock.submissions[0]?.attemptId}`,
      attempt_id: mock.submissions[0]?.attemptId,
    })
    mock.finish(0)
    expect(await ended(task)).toMatchObject({
      state: 'success',
      billing: { status: 'committed', actual_amount_micro: 250_000 },
    })
    expect(await app.balance(person)).toEqual({ postedMicro: 9_750_000n, heldMicro: 0n })
  })

  test('a failure of which the provider does not say what it charges fails the task and keeps its money held', async () => {
    mock.script = () => ({ kind: 'failed', code: 'crashed', message: 'x', billed: undefined })
    const task = await make()
    expect(await ended(task)).toMatchObject({
      state: 'fail',
      billing: { status: 'usage_unknown', actual_amount_micro: null },
    })
    expect(await app.balance(person)).toEqual({ postedMicro: 10_000_000n, heldMicro: 40_000n })
    expect(await evidenceOf(task)).toMatchObject({ provider: 'mock', attempt_id: mock.submissions[0]?.attemptId })
  })

  test('what the operator has decided about the money ends the task, and moves nothing more', async () => {
    mock.script = () => ({ kind: 'lost', message: 'the line broke' })
    const task = await make()
    await until(async () => (await app.holds(person))[0]?.flag === 'usage_unknown', 'it is unknown')
    const [hold] = await app.holds(person)
    await app.app.ledger.end({
      operation: 'void',
      holdId: hold?.id ?? 0n,
      outcome: 'failed',
      resolvedBy: 'operator:test',
    })
    expect(await ended(task)).toMatchObject({
      state: 'fail',
      error: { code: 'outcome_unknown' },
      billing: { status: 'released' },
    })
    expect(await app.balance(person)).toEqual(untouched)
  })
})

test('a process that ends between row and hold leaves nothing that counts: the sweep gives back what was held', async () => {
  const ids = { gone: '01a1fb04-c84b-761b-b290-dc3d95aed53b', held: '01a1fb04-c84b-761b-b290-dc3d95aed53c' }
  const holdIds = { gone: await app.app.ledger.nextHoldId(), held: await app.app.ledger.nextHoldId() }
  const insert = (which: 'gone' | 'held') =>
    app.database.sql(
      `insert into tasks (id, account_id, request_id, hold_id, runner, type, model, request, price, reserve_micro, eta_seconds, timeout_ms)
       values ($1, $2, $3, $4, 'media', 'image', 'image', '{}', '{"version":1,"unit":"image","unit_micro":5,"units":1}', 5, 1, 1000)`,
      [ids[which], person.accountId, `req_${which}`, holdIds[which]],
    )
  await insert('gone')
  // the hold came, its process did not
  const reserve = {
    requestId: 'req_held',
    actorAccountId: person.accountId,
    category: 'image',
    subject: 'image',
    detail: {},
    detached: true,
  }
  const credential = { kind: 'api_key', id: person.keyId } as const
  const amount = 5n as Parameters<typeof app.app.ledger.reserve>[0]['wantedMicro']
  const reserving = { ...reserve, credential, wantedMicro: amount, minimumMicro: amount, holdId: holdIds.held }
  expect(await app.app.ledger.reserve(reserving)).toMatchObject({ kind: 'reserved' })
  await insert('held')
  await until(async () => (await app.balance(person)).heldMicro === 0n, 'it is given back')
  expect((await app.holds(person)).map(({ kind }) => kind)).toEqual(['voided'])
  expect(mock.submissions).toEqual([])
  // the hold of the other may come late: it is looked for once more
  await until(async () => {
    const left = await app.database.sql<{ id: string }>('select id from tasks where not held')
    return left.length === 1 && left[0]?.id === ids.gone
  }, 'only the one without a hold is left')
  await app.database.sql('delete from tasks where not held')
})

test('after all of this the ledger agrees with itself', async () => {
  expect(await app.audit()).toEqual([])
  expect(app.log.filter((line) => line.includes('does not declare') || line.includes('"level":50'))).toEqual([])
})

const billingOf = (answer: Answer): unknown => (answer.json.billing as { status: string }).status
