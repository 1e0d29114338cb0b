import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../test/database.ts'
import { ledgerFixture } from '../../test/ledger-fixture.ts'
import { applyForRefund, refundInReview } from '../../test/refund-in-review.ts'
import { masked, openTerminal } from './terminal.fixture.ts'

let database: TestDatabase
let terminal: ReturnType<typeof openTerminal>
let make: ReturnType<typeof ledgerFixture>
beforeAll(async () => {
  database = await freshDatabase()
  terminal = openTerminal({ DATABASE_URL: database.url })
  make = ledgerFixture(database)
})
afterEach(async () => {
  expect(await database.sql(`select * from ledger_audit() where check_name <> 'open_hold_without_process'`)).toEqual([])
})
afterAll(async () => {
  terminal.close()
  await database.drop()
})

const refund = (...args: string[]) => terminal.run(['refund', ...args])
const apply = (callId: bigint, accountId: bigint) => applyForRefund(database, callId, accountId)

/** A call from before this ledger, and the refund that was asked for it. */
async function oldCall() {
  const account = await make.account('agent')
  return { account, ...(await refundInReview(database, account)) }
}
const buckets = (account: bigint) =>
  database.sql('select kind, posted_micro::int as posted, expires_at from buckets where account_id = $1', [account])

test('what waits is listed with its reason, and shown with why and what to do', async () => {
  const { id, account, call } = await oldCall()
  expect(
    (await refund('list', '--json')).json<{ refunds: Array<{ id: number }> }>().refunds.map((one) => String(one.id)),
  ).toContain(id)
  expect((await refund('list')).out).toContain('it broke off')
  const shown = await refund('show', id)
  expect(masked(shown.out, { account: String(account), hold: String(call) })).toContain('funding  brought over')
  expect(shown.out).toContain(`farebox refund approve ${id} --reason`)
})

test('an approved refund goes to the account that made the call, once, with who and why in the audit log', async () => {
  const { id, account, call } = await oldCall()
  const done = await refund('approve', id, '--reason', 'seen in the old books')
  expect(done).toMatchObject({ exitCode: 0, err: '' })
  expect(done.out).toBe(`Refund ${id} is completed: 0.0007 Credits (700 micro) to account ${account} given back.\n`)
  expect(await buckets(account)).toEqual([{ kind: 'refunded', posted: 700, expires_at: null }])
  expect((await refund('approve', id, '--reason', 'again', '--json')).json()).toMatchObject({ changed: false })
  expect(await refund('reject', id, '--reason', 'no')).toMatchObject({ exitCode: 5, out: '' })
  expect(await apply(call, account)).toBe(id)
  expect(await buckets(account)).toEqual([{ kind: 'refunded', posted: 700, expires_at: null }])
  expect(
    await database.sql(`select action, actor, reason from audit_log where target_kind = 'refund' and target_id = $1`, [
      id,
    ]),
  ).toEqual([{ action: 'approve.refund', actor: 'operator:ada', reason: 'seen in the old books' }])
  expect(
    await database.sql(`select event from outbox where object_id = $1 and event = 'refund.completed'`, [id]),
  ).toHaveLength(1)
  expect(
    (await refund('list', '--json')).json<{ refunds: Array<{ id: number }> }>().refunds.map((one) => String(one.id)),
  ).not.toContain(id)
})

test('a rejected refund gives nothing, and stays rejected', async () => {
  const { id, account } = await oldCall()
  expect((await refund('reject', id, '--reason', 'refunded by hand')).out).toBe(
    `Refund ${id} is rejected: nothing given back.\n`,
  )
  expect(await buckets(account)).toEqual([])
  expect(await refund('approve', id, '--reason', 'after all')).toMatchObject({ exitCode: 5 })
  expect((await refund('show', id)).out).toMatch(/status +rejected\n[\s\S]*because +refunded by hand/)
})

test('two operators who decide otherwise at once: one decision stands, and the other is told', async () => {
  for (let round = 0; round < 5; round++) {
    const { id, account } = await oldCall()
    const codes = (
      await Promise.all([refund('approve', id, '--reason', 'yes'), refund('reject', id, '--reason', 'no')])
    ).map(({ exitCode }) => exitCode)
    expect([...codes].sort()).toEqual([0, 5])
    expect(await buckets(account)).toHaveLength(codes[0] === 0 ? 1 : 0)
  }
})

test('a refund that was verified is not to be decided, and shows where its Credits went', async () => {
  const account = await make.account('agent')
  await make.grant(account, 1_000n, { bucket: 'bonus' })
  const { id: call } = await make.hold(await make.key(account), 700n)
  await make.capture(call, 700n, { outcome: 'failed' })
  const id = await apply(call, account)
  expect(await refund('approve', id, '--reason', 'x')).toMatchObject({ exitCode: 5 })
  expect((await refund('show', id, '--json')).json()).toMatchObject({
    refund: { status: 'completed' },
    returned_to: [{ account_id: Number(account), kind: 'bonus', amount_micro: 700 }],
  })
  expect(await refund('show', '999999')).toMatchObject({ exitCode: 1 })
  expect(await refund('approve', '999999', '--reason', 'x')).toMatchObject({ exitCode: 1 })
})

test('an account is told when it falls below its own threshold, below that of all without one, and once each time', async () => {
  const account = await make.account('agent')
  await make.grant(account, 5_000_000n)
  const key = await make.key(account)
  const spend = async (amount: bigint) => {
    const { id } = await make.hold(key, amount)
    await make.capture(id, amount)
  }
  const told = async () =>
    (
      await database.sql<{ payload: { balance_micro: number; threshold_micro: number } }>(
        `select payload from outbox where event = 'balance.low' and account_id = $1 order by id`,
        [account],
      )
    ).map(({ payload }) => [payload.balance_micro, payload.threshold_micro])
  await database.sql(`update ledger_settings set balance_low_micro = 1000000`)
  const alert = (below: string) =>
    terminal.run(['credits', 'alert', String(account), '--below', below, '--reason', 'asked'])
  expect((await alert('4')).out).toBe(
    `Account ${account} is told when its balance falls below 4 Credits (4000000 micro).\n`,
  )
  await spend(1_000_000n)
  expect(await told()).toEqual([])
  await spend(1n)
  await spend(1n)
  expect(await told()).toEqual([[3_999_999, 4_000_000]])
  await make.grant(account, 2n)
  await spend(1n)
  expect(await told()).toEqual([
    [3_999_999, 4_000_000],
    [3_999_999, 4_000_000],
  ])
  await alert('default')
  await spend(3_000_000n)
  expect((await told()).at(-1)).toEqual([999_999, 1_000_000])
  expect(await alert('many')).toMatchObject({ exitCode: 2 })
  expect(
    await database.sql(`select action from audit_log where target_id = $1 and action = 'set_alert.credits'`, [
      String(account),
    ]),
  ).toHaveLength(2)
})
