import { afterAll, beforeAll, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../../test/database.ts'
import { ledgerFixture, readingServer, signedIn } from '../../../test/ledger-fixture.ts'
import type { Caller } from '../../kernel/caller.ts'
import { auditLedger } from '../../ledger/audit.ts'
import { holdAdministrationRoutes } from './routes.ts'

let database: TestDatabase
let make: ReturnType<typeof ledgerFixture>
let server: ReturnType<typeof readingServer>
let admin: Caller
let otherAdmin: Caller
beforeAll(async () => {
  database = await freshDatabase()
  make = ledgerFixture(database)
  const lookupSettings = () => ({ config: { models: [], providers: {} }, secrets: { providerKeys: {} } })
  server = readingServer(holdAdministrationRoutes({ db: database.db, lookupSettings }))
  ;[admin, otherAdmin] = await Promise.all([anAdmin(), anAdmin()])
})
afterAll(() => database.drop())

const anAdmin = async (): Promise<Caller> => ({ ...signedIn(await make.account('owner')), admin: true })

/** An account with 10000 microcredits, and a hold of 1000. */
async function held(given: { unknown?: boolean; credits?: bigint } = {}) {
  const accountId = await make.account('agent')
  await make.grant(accountId, given.credits ?? 10_000n)
  const { id } = await make.hold(await make.key(accountId), 1000n)
  if (given.unknown !== false) await make.unknown(id)
  return { accountId, id }
}

const resolve = (id: bigint, body: Record<string, unknown>, as = admin) =>
  server.post(as, `/v1/admin/holds/${id}/resolve`, { reason: 'invoice 7', ...body })

const moneyOf = async (accountId: bigint) =>
  (
    await database.sql<{ posted: string; held: string }>(
      'select sum(posted_micro)::text as posted, sum(held_micro)::text as held from buckets where account_id = $1',
      [accountId],
    )
  )[0]

const audited = (id: bigint) =>
  database.sql<{ actor: string; after: string }>(
    `select actor_kind || ':' || actor as actor, reason, request_id is not null as by_request, after::text as after
     from audit_log where action = 'resolve.hold' and target_id = $1`,
    [String(id)],
  )

test('the list has what waits, longest first, by account and by flag, a page at a time, and leaves out what runs', async () => {
  const [first, second] = [await held(), await held({ credits: 1000n })]
  const running = await held({ unknown: false })
  await resolve(second.id, { actual_micro: 2000, above_hold: true })
  const idsIn = async (query: string) => {
    const { body } = await server.get(admin, `/v1/admin/holds?${query}`)
    return { ids: body.data.map((hold: { id: number }) => hold.id), next: body.next_cursor }
  }
  const all = await idsIn('limit=100')
  expect(all.ids).toEqual([Number(first.id), Number(second.id)])
  expect(all.ids).not.toContain(Number(running.id))
  await make.release(running.id)
  expect(await idsIn('limit=1')).toEqual({ ids: [Number(first.id)], next: Number(first.id) })
  expect(await idsIn(`limit=1&after=${first.id}`)).toEqual({ ids: [Number(second.id)], next: 0 })
  expect((await idsIn('flag=shortfall')).ids).toEqual([Number(second.id)])
  expect((await idsIn(`account=${first.accountId}`)).ids).toEqual([Number(first.id)])
  expect((await idsIn('after=999999999')).ids).toEqual([])
})

test('a hold is shown by either of its ids, with who pays it and whether an operator ends it', async () => {
  const { id, accountId } = await held()
  const byId = await server.get(admin, `/v1/admin/holds/${id}`)
  expect(byId.body.data).toMatchObject({
    id: Number(id),
    state: 'usage_unknown',
    account_id: Number(accountId),
    reserve_micro: 1000,
    actual_micro: null,
    why: 'a test',
    can_resolve: true,
    allocations: [{ payer_account_id: Number(accountId), bucket: 'purchased', amount_micro: 1000 }],
    resolved: null,
  })
  const byRequest = await server.get(admin, `/v1/admin/holds/req_${id}`)
  expect(byRequest.body.data.id).toBe(Number(id))
  expect((await server.get(admin, '/v1/admin/holds/999999')).body.code).toBe('hold_not_found')
})

test('an admin charges what the call cost: the rest comes back, and the audit log has the account, the reason and the request', async () => {
  const { id, accountId } = await held()
  expect((await resolve(id, { actual_micro: 300 })).body.data).toEqual({
    hold_id: Number(id),
    account_id: Number(accountId),
    state: 'captured',
    charged_micro: 300,
    returned_micro: 700,
    available_micro: 9700,
    changed: true,
  })
  expect(await moneyOf(accountId)).toEqual({ posted: '9700', held: '0' })
  expect(await audited(id)).toEqual([
    {
      actor: `account:${admin.accountId}`,
      reason: 'invoice 7',
      by_request: true,
      after: '{"charged_micro":300,"status":"captured"}',
    },
  ])
  expect((await server.get(admin, `/v1/admin/holds/${id}`)).body.data).toMatchObject({
    state: 'captured',
    can_resolve: false,
    resolved: { charged_micro: 300, by: `account:${admin.accountId}`, reason: 'invoice 7' },
  })
})

test('a repeat changes nothing and is not recorded again; another end is refused', async () => {
  const { id } = await held()
  await resolve(id, { release: true })
  expect((await resolve(id, { release: true })).body.data).toMatchObject({ state: 'voided', changed: false })
  expect((await resolve(id, { actual_micro: 5 })).body.code).toBe('hold_not_resolvable')
  expect(await audited(id)).toHaveLength(1)
})

test('what an operator may not end, or ends by a slip, is refused and changes nothing', async () => {
  const running = await held({ unknown: false })
  expect((await resolve(running.id, { release: true })).body.code).toBe('hold_not_resolvable')
  const { id, accountId } = await held()
  expect((await resolve(id, { actual_micro: 5000 })).body.code).toBe('amount_above_hold')
  expect((await resolve(id, {})).body.code).toBe('invalid_field')
  expect((await resolve(id, { actual_micro: 5, release: true })).body.code).toBe('invalid_field')
  expect((await resolve(id, { release: true, reason: ' ' })).body.code).toBe('invalid_field')
  expect((await server.post(admin, `/v1/admin/holds/${id}/lookup`)).body.code).toBe('usage_not_found')
  expect(await moneyOf(accountId)).toEqual({ posted: '10000', held: '1000' })
  expect(await audited(id)).toEqual([])
  await make.release(running.id)
})

test('what the account cannot pay above its hold is not charged: the hold waits for its payers, and that is recorded', async () => {
  const { id, accountId } = await held({ credits: 1000n })
  expect((await resolve(id, { actual_micro: 5000, above_hold: true })).body.data).toMatchObject({
    state: 'shortfall',
    charged_micro: 0,
    returned_micro: 0,
  })
  expect((await resolve(id, { release: true })).body.code).toBe('hold_not_resolvable')
  expect(await moneyOf(accountId)).toEqual({ posted: '1000', held: '1000' })
  expect(await audited(id)).toMatchObject([{ after: '{"charged_micro":0,"status":"shortfall"}' }])
})

test('of two admins who decide at once one does: one end, one charge, one row of the audit log', async () => {
  for (const ends of [
    [{ actual_micro: 300 }, { actual_micro: 400 }],
    [{ actual_micro: 300 }, { actual_micro: 300 }],
    [{ release: true }, { actual_micro: 400 }],
  ] as const) {
    const { id, accountId } = await held()
    const answers = await Promise.all([resolve(id, ends[0]), resolve(id, ends[1], otherAdmin)])
    const changed = answers.filter(({ body }) => body.data?.changed === true)
    expect(changed).toHaveLength(1)
    const charged = changed[0]?.body.data.charged_micro
    expect(await moneyOf(accountId)).toEqual({ posted: String(10_000 - charged), held: '0' })
    expect(await audited(id)).toHaveLength(1)
  }
  expect(await auditLedger(database.db)).toEqual([])
})

test('an admin against the call itself, whose usage comes in late: one of them ends it, and only an admin who did is recorded', async () => {
  for (let round = 0; round < 6; round++) {
    const { id, accountId } = await held()
    const [answer, late] = await Promise.all([
      resolve(id, { release: true }),
      make.capture(id, 600n),
      resolve(id, { actual_micro: 700 }, otherAdmin),
    ])
    const [end] = await database.sql<{ kind: string; actual_micro: string; resolved_by: string | null }>(
      'select kind, actual_micro, resolved_by from hold_resolutions where hold_id = $1',
      [id],
    )
    expect(['captured', 'already_resolved']).toContain(late.status)
    expect([200, 409]).toContain(answer.status)
    expect(await moneyOf(accountId)).toEqual({ posted: String(10_000n - BigInt(end?.actual_micro ?? 0)), held: '0' })
    expect(await audited(id)).toHaveLength(end?.resolved_by === null ? 0 : 1)
  }
  expect(await auditLedger(database.db)).toEqual([])
})
