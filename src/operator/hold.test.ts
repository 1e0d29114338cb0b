import { afterAll, beforeAll, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../test/database.ts'
import { auditLedger } from '../ledger/audit.ts'
import { masked, openHold, openTerminal } from './terminal.fixture.ts'

let database: TestDatabase
let terminal: ReturnType<typeof openTerminal>
beforeAll(async () => {
  database = await freshDatabase()
  terminal = openTerminal({ DATABASE_URL: database.url })
})
afterAll(async () => {
  terminal.close()
  await database.drop()
})

/** An account with `credits`, and a hold of 1000 microcredits. */
async function heldAccount(state: 'running' | 'usage_unknown' = 'usage_unknown', credits = '1') {
  const account = (await terminal.run(['account', 'create', '--type', 'agent', '--json'])).json<{
    account: { id: number }
  }>().account.id
  await terminal.run(['credits', 'grant', String(account), credits, '--reason', 'test'])
  const key = (await terminal.run(['key', 'create', String(account), '--json'])).json<{
    key: { id: number }
  }>().key.id
  const { holdId, requestId } = await openHold(database, {
    accountId: BigInt(account),
    keyId: BigInt(key),
    state,
  })
  return { account: String(account), hold: String(holdId), requestId }
}

const balanceOf = async (account: string) => {
  const { balance_micro, held_micro } = (await terminal.run(['account', 'show', account, '--json'])).json<{
    balance_micro: number
    held_micro: number
  }>()
  return { balance_micro, held_micro }
}
const resolve = (...args: string[]) => terminal.run(['hold', 'resolve', ...args])

test('the list shows what waits and why, of one account when asked, and leaves out what runs', async () => {
  const waiting = await heldAccount()
  const running = await heldAccount('running')
  const listed = await terminal.run(['hold', 'list', '--account', waiting.account])
  expect(masked(listed.out, { hold: waiting.hold, account: waiting.account })).toMatchInlineSnapshot(`
    "  ID  STATE  AGE  ACCOUNT  MODEL  HELD  COST  REQUEST  PROCESS  WHY
    <hold>  usage_unknown  <age>  <account>  demo-chat  0.001  ?  <request>  server:42  the connection broke

    HELD and COST are Credits. Next: farebox hold show <id>"
  `)
  const all = (await terminal.run(['hold', 'list', '--json'])).json<{
    holds: Array<{ id: number }>
  }>()
  expect(all.holds.map(({ id }) => id)).toContain(Number(waiting.hold))
  expect(all.holds.map(({ id }) => id)).not.toContain(Number(running.hold))
  expect((await terminal.run(['hold', 'list', '--account', running.account])).out).toBe('No hold waits.\n')
})

test('a hold is shown by its id and by its request id, with who pays and what to do next', async () => {
  const { hold, requestId, account } = await heldAccount()
  const shown = await terminal.run(['hold', 'show', hold])
  expect(masked(shown.out, { hold, account })).toMatchInlineSnapshot(`
    "hold  <hold>
    state  usage_unknown
    request  <request>
    account  <account>
    for  chat demo-chat
    held  0.001 Credits (1000 micro)
    made  <time> (<age> ago)
    process  server:42
    why  the connection broke

    Paid from
    ACCOUNT  BUCKET  AMOUNT
    <account>  promo  0.001 Credits (1000 micro)

    Next: find what the provider charged for it, then
      farebox hold resolve <hold> --actual <micro> --reason <text>  charges that much, gives the rest back
      farebox hold resolve <hold> --release --reason <text>  charges nothing"
  `)
  expect((await terminal.run(['hold', 'show', requestId])).out.replace(/\d+ s ago/, '')).toBe(
    shown.out.replace(/\d+ s ago/, ''),
  )
})

test('resolving with --actual charges exactly that, once, and records who and why', async () => {
  const { hold, requestId, account } = await heldAccount()
  const ran = await resolve(requestId, '--actual', '300', '--reason', 'invoice 7')
  expect(ran).toMatchObject({ exitCode: 0, err: '' })
  expect(masked(ran.out, { hold, account })).toMatchInlineSnapshot(
    `"Hold <hold> is captured: 0.0003 Credits (300 micro) charged, 0.0007 Credits (700 micro) given back. Account <account> has 0.9997 Credits (999700 micro) available."`,
  )
  expect(await balanceOf(account)).toEqual({ balance_micro: 999_700, held_micro: 0 })
  expect(
    await database.sql(
      'select kind, actual_micro, outcome, resolved_by, reason from hold_resolutions where hold_id = $1',
      [hold],
    ),
  ).toEqual([
    {
      kind: 'captured',
      actual_micro: '300',
      outcome: 'success',
      resolved_by: 'operator:ada',
      reason: 'invoice 7',
    },
  ])
  expect(
    await resolve(hold, '--actual', '300', '--reason', 'again', '--json').then((again) => again.json()),
  ).toMatchObject({ changed: false, charged_micro: 300 })
  expect(await resolve(hold, '--actual', '400', '--reason', 'again')).toMatchObject({
    exitCode: 5,
    out: '',
  })
  expect(await resolve(hold, '--release', '--reason', 'again')).toMatchObject({
    exitCode: 5,
    out: '',
  })
  expect(await balanceOf(account)).toEqual({ balance_micro: 999_700, held_micro: 0 })
  expect(await auditLedger(database.db)).toEqual([])
})

test('resolving with --release charges nothing and gives everything back', async () => {
  const { hold, account } = await heldAccount()
  const ran = await resolve(hold, '--release', '--reason', 'the provider never saw it')
  expect(masked(ran.out, { hold, account })).toMatchInlineSnapshot(
    `"Hold <hold> is voided: 0 Credits (0 micro) charged, 0.001 Credits (1000 micro) given back. Account <account> has 1 Credits (1000000 micro) available."`,
  )
  expect(await balanceOf(account)).toEqual({ balance_micro: 1_000_000, held_micro: 0 })
  expect(
    await database.sql('select kind, resolved_by, reason from hold_resolutions where hold_id = $1', [hold]),
  ).toEqual([{ kind: 'voided', resolved_by: 'operator:ada', reason: 'the provider never saw it' }])
  expect(await auditLedger(database.db)).toEqual([])
})

test('more than was held is charged only when that is said, and then from the caller’s own account', async () => {
  const { hold, account } = await heldAccount()
  expect(await resolve(hold, '--actual', '5000', '--reason', 'x')).toMatchObject({
    exitCode: 2,
    out: '',
    err: expect.stringContaining('--above-hold'),
  })
  expect(await balanceOf(account)).toEqual({ balance_micro: 1_000_000, held_micro: 1000 })
  expect((await resolve(hold, '--actual', '5000', '--above-hold', '--reason', 'x', '--json')).json()).toMatchObject({
    charged_micro: 5000,
    returned_micro: 0,
  })
  expect(await balanceOf(account)).toEqual({ balance_micro: 995_000, held_micro: 0 })
  expect(await auditLedger(database.db)).toEqual([])
})

test('what nobody can pay becomes a shortfall, charges nothing, and cannot be resolved here', async () => {
  const { hold, account } = await heldAccount('usage_unknown', '0.002')
  expect(await resolve(hold, '--actual', '5000', '--above-hold', '--reason', 'x')).toMatchObject({
    exitCode: 5,
    out: '',
    err: expect.stringContaining('shortfall'),
  })
  for (const end of [['--release'], ['--actual', '10']]) {
    expect(await resolve(hold, ...end, '--reason', 'x')).toMatchObject({
      exitCode: 5,
      out: '',
      err: expect.stringContaining('cannot be resolved here'),
    })
  }
  expect(await balanceOf(account)).toEqual({ balance_micro: 2000, held_micro: 1000 })
  expect((await terminal.run(['hold', 'list', '--account', account, '--json'])).json()).toMatchObject({
    holds: [{ state: 'shortfall', actual_micro: 5000 }],
  })
  expect(await auditLedger(database.db)).toEqual([])
})

test('the hold of a call that runs is left alone', async () => {
  const { hold, account } = await heldAccount('running')
  expect(await resolve(hold, '--release', '--reason', 'x')).toMatchObject({
    exitCode: 5,
    out: '',
    err: expect.stringContaining('runs'),
  })
  expect(await balanceOf(account)).toEqual({ balance_micro: 1_000_000, held_micro: 1000 })
})

test.each([
  ['no reason', ['resolve', '1000', '--release']],
  ['no end', ['resolve', '1000', '--reason', 'x']],
  ['both ends', ['resolve', '1000', '--release', '--actual', '1', '--reason', 'x']],
  ['a fraction of a microcredit', ['resolve', '1000', '--actual', '1.5', '--reason', 'x']],
  ['a name that is no hold', ['show', 'abc']],
  ['a limit of 0', ['list', '--limit', '0']],
])('%s is a usage error', async (_, args) => {
  expect(await terminal.run(['hold', ...args])).toMatchObject({
    exitCode: 2,
    out: '',
    err: expect.stringMatching(/./),
  })
})

test('a hold or account that is not there is not found', async () => {
  for (const args of [
    ['show', '999999999'],
    ['show', 'req_0'],
    ['resolve', '999999999', '--release', '--reason', 'x'],
    ['list', '--account', '99999'],
  ]) {
    expect(await terminal.run(['hold', ...args])).toMatchObject({
      exitCode: 1,
      out: '',
      err: expect.stringContaining('There is no'),
    })
  }
})
