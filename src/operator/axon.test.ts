import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type AxonServer, type AxonSetting, COIN, openAxonSetting } from '../../test/axon-setting.ts'
import { auditLedger } from '../ledger/audit.ts'
import { masked, openTerminal } from './terminal.fixture.ts'

let setting: AxonSetting
let server: AxonServer
let terminal: ReturnType<typeof openTerminal>
let wallet: string
let accountId: bigint

beforeAll(async () => {
  setting = await openAxonSetting()
  server = await setting.server()
  terminal = openTerminal({ DATABASE_URL: setting.database.url, FAREBOX_REVIEW_ALONE_CREDITS: '10' })
})
beforeEach(async () => {
  wallet = await setting.wallet()
  accountId = await setting.account(wallet)
})
afterAll(async () => {
  expect(await auditLedger(setting.database.db)).toEqual([])
  terminal.close()
  await setting.stop()
})

const axon = (...args: string[]) => terminal.run(['axon', ...args])
/** A payment of coins that nobody quoted, deep in the chain: its claim's number. */
async function unquoted(wei: bigint, from = wallet): Promise<{ id: string; hash: string }> {
  await server.deps.rates.current()
  const hash = await setting.pay(from, wei)
  await setting.mine(2)
  await server.send(accountId, 'POST', 'redeem-hash', { tx_hash: hash })
  await server.rounds.once()
  const [row] = await setting.database.sql<{ id: string }>('select id from axon_claims where tx_hash = $1', [hash])
  return { id: row?.id ?? '', hash }
}
const credited = async () => {
  const [row] = await setting.database.sql<{ micro: string }>('select account_available_micro($1) as micro', [
    accountId,
  ])
  return row?.micro
}

test('a payment without a quote is listed, shown and credited with what it is worth, once, and recorded', async () => {
  const { id, hash } = await unquoted(3n * COIN)
  const listed = await axon('list')
  expect(masked(listed.out.replaceAll(hash, '<hash>'), { id, account: accountId })).toMatchInlineSnapshot(`
    "CLAIM  STATUS  REASON  AGE  ACCOUNT  RECEIVED  TRANSACTION
        <id>  review_required  unquoted  <age>  <id>  3  <hash>

    RECEIVED is coins. Next: farebox axon show <claim>"
  `)
  const shown = await axon('show', `axon:${id}`)
  expect(shown.out).toContain(`from         ${wallet}`)
  expect(shown.out).toMatch(/received +3\n/)
  const tooMuch = await axon('credit', id, '--credits', '6.1', '--reason', 'a test')
  expect([tooMuch.exitCode, tooMuch.err]).toEqual([
    5,
    'What arrived is worth 6000000 microcredits; 6100000 cannot be credited for it.\n',
  ])
  const done = await axon('credit', id, '--reason', 'agreed by mail')
  expect([done.exitCode, done.out]).toEqual([0, 'Credited 6 Credits (6000000 micro).\n'])
  expect(await credited()).toBe('6000000')
  expect((await axon('credit', id, '--reason', 'again')).exitCode).toBe(5)
  const { body } = await server.send(accountId, 'POST', 'redeem-hash', { tx_hash: hash })
  expect(body).toMatchObject({ status: 'completed', credited_micro_usdc: 6_000_000 })
  expect((await axon('list')).out).toBe('Nothing waits for a decision.\n')
  const audit = 'select action, reason from audit_log where target_kind = $1 and target_id = $2'
  expect(await setting.database.sql(audit, ['native_payment', id])).toEqual([
    { action: 'credit.native_payment', reason: 'agreed by mail' },
  ])
})

test('a value above what one operator may decide takes a second one who states the same', async () => {
  const { id } = await unquoted(30n * COIN)
  const proposed = await axon('credit', id, '--reason', 'looks fine')
  expect(proposed.out).toMatch(/^Proposed: credit \d+, 60 Credits/)
  expect((await axon('credit', id, '--reason', 'and again')).out).toMatch(/^Proposed/)
  expect(await credited()).toBe('0')
  await setting.database.sql('alter table axon_events disable trigger append_only')
  await setting.database.sql("update axon_events set actor = 'operator:somebody' where event = 'operator_propose'")
  await setting.database.sql('alter table axon_events enable trigger append_only')
  expect((await axon('credit', id, '--reason', 'I agree')).out).toBe('Credited 60 Credits (60000000 micro).\n')
  expect(await credited()).toBe('60000000')
})

test('what came from nobody’s wallet, or was too little, can be sent back or credited; then its hash is closed', async () => {
  const stranger = await setting.wallet()
  const foreign = await unquoted(2n * COIN, stranger)
  const little = await unquoted(COIN / 4n)
  const listed = (await axon('list', '--json')).json<{ claims: { id: number; reason: string }[] }>()
  expect(listed.claims.map(({ reason }) => reason)).toEqual(['wrong_payer', 'amount_below_minimum'])
  const back = await axon('refund', foreign.id, '--tx', `0x${'7'.repeat(64)}`, '--reason', 'sent back')
  expect([back.exitCode, back.out]).toEqual([0, 'Recorded as refunded.\n'])
  const { status, body } = await server.send(accountId, 'POST', 'redeem-hash', { tx_hash: foreign.hash })
  expect([status, body.code, body.claimed_by]).toEqual([409, 'tx_already_claimed', `axon:${foreign.id}`])
  expect((await axon('credit', little.id, '--reason', 'a start')).out).toBe('Credited 0.5 Credits (500000 micro).\n')
  expect((await axon('dismiss', foreign.id, '--reason', 'twice')).exitCode).toBe(5)
})

test('a hash that the chain does not show is credited by nobody', async () => {
  const hash = `0x${'9'.repeat(64)}`
  await server.send(accountId, 'POST', 'redeem-hash', { tx_hash: hash })
  const [row] = await setting.database.sql<{ id: string }>('select id from axon_claims where tx_hash = $1', [hash])
  const pending = await axon('credit', row?.id ?? '', '--reason', 'please')
  expect([pending.exitCode, pending.err]).toEqual([5, 'This claim is pending: there is nothing to decide.\n'])
  await setting.database.sql("update axon_claims set claimed_at = claimed_at - interval '2 days' where tx_hash = $1", [
    hash,
  ])
  await setting.mine()
  await server.rounds.once()
  const failed = await axon('credit', row?.id ?? '', '--reason', 'please')
  expect([failed.exitCode, failed.err]).toEqual([
    5,
    'The chain does not show this payment deep enough, so there is nothing to credit.\n',
  ])
  expect((await axon('show', '999999')).exitCode).toBe(1)
  expect((await axon('show', 'order')).exitCode).toBe(2)
})

test('reconcile shows what arrived beside what was credited', async () => {
  await setting.mine(3)
  await server.rounds.once()
  const { exitCode, out } = await terminal.run(['reconcile'])
  expect(exitCode).toBe(0)
  expect(out).toMatch(/^axon:31337:0x(a0){20} +ok +[\d.]+ +[\d.]+ +[\d.]+ +0 +compared at block \d+$/m)
  const { axon: coin } = (await terminal.run(['reconcile', '--json'])).json<{
    axon: { received: string; credited: string }
  }>()
  expect(BigInt(coin.received)).toBeGreaterThanOrEqual(BigInt(coin.credited))
})
