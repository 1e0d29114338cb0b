import { afterAll, beforeAll, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../test/database.ts'
import { payerAccount } from '../../test/orders.ts'
import { openTerminal } from './terminal.fixture.ts'

const PAYER = `0x${'ab'.repeat(20)}`
const SIGNATURE = `0x${'12'.repeat(65)}`

let database: TestDatabase
let terminal: ReturnType<typeof openTerminal>
beforeAll(async () => {
  database = await freshDatabase()
  terminal = openTerminal({ DATABASE_URL: database.url })
  const accountId = await payerAccount(database, PAYER)
  for (const [nonce, status, reason] of [
    ['1', 'review_required', 'used_with_other_terms'],
    ['2', 'pending', null],
    ['3', 'failed', null],
    ['4', 'review_required', 'used_with_other_terms'],
    ['5', 'review_required', 'used_with_other_terms'],
  ])
    await database.sql(
      `insert into x402_payments (chain_id, token_address, payer, nonce, asset_id, recipient_address, amount_micro, credit_micro,
         rate_ppm, valid_after, valid_before, signature, x402_version, settler, account_id, status, reason, request_id, created_at, next_look_at)
       values (31337, $1, $2, $3, 'dev_usdc', $1, 900000, 900000, 1000000, 0, 1, $4, 2, 'relayer', $5, $6, $7, 'req_1', now(), now())`,
      [`0x${'cd'.repeat(20)}`, PAYER, `0x${String(nonce).padStart(64, '0')}`, SIGNATURE, accountId, status, reason],
    )
})
afterAll(async () => {
  terminal.close()
  await database.drop()
})

test('what is open or in review is listed, and shown without the signature that anybody could send', async () => {
  const { payments } = (await terminal.run(['x402', 'list', '--json'])).json<{ payments: { id: number }[] }>()
  expect(payments).toHaveLength(4)
  const shown = await terminal.run(['x402', 'show', '1', '--json'])
  expect(shown.out).toContain('used_with_other_terms')
  for (const command of [['list'], ['list', '--json'], ['show', '1'], ['show', '1', '--json']])
    expect((await terminal.run(['x402', ...command])).out).not.toContain(SIGNATURE)
})

test('a payment in review is dismissed once, with its reason in the audit log; an open one ends by the chain alone', async () => {
  const dismiss = (id: string) => terminal.run(['x402', 'dismiss', id, '--reason', 'nothing is owed'])
  const first = await dismiss('1')
  expect([first.err, first.exitCode]).toEqual(['', 0])
  expect((await dismiss('1')).exitCode).not.toBe(0)
  expect((await dismiss('2')).err).toMatch(/not in review/)
  expect((await dismiss('99')).err).toMatch(/There is no x402 payment 99/)
  const rows = await database.sql<{ status: string }>('select status from x402_payments order by id')
  expect(rows.slice(0, 3).map(({ status }) => status)).toEqual(['failed', 'pending', 'failed'])
  const logged = await database.sql<{ reason: string }>(`select reason from audit_log where action = 'dismiss.payment'`)
  expect(logged).toEqual([{ reason: 'nothing is owed' }])
})

test('what arrived is credited or recorded as sent back, each with its reason; above the limit by two operators', async () => {
  await database.sql(`update x402_payments set tx_hash = '0x' || repeat(id::text, 64) where id in (4, 5)`)
  await database.sql(
    `insert into chain_transfers (chain_id, tx_hash, log_position, block, block_hash, block_at, token_address, payer, recipient, amount, state)
     select chain_id, tx_hash, 0, 1, tx_hash, now(), token_address, payer, recipient_address, 500000, 'unmatched' from x402_payments where id in (4, 5)`,
  )
  const x402 = (...command: string[]) => terminal.run(['x402', ...command, '--reason', 'agreed by mail'])
  const two = { environment: { FAREBOX_REVIEW_ALONE_CREDITS: '0.1' } }
  const proposed = await terminal.run(['x402', 'credit', '4', '--reason', 'agreed by mail'], two)
  expect(proposed.out).toMatch(/^Proposed: credit 4, 0\.5 Credits .*another one has to run the same command before/)
  const [before] = await database.sql<{ count: string }>('select count(*)::text as count from credit_grants')
  expect(before).toEqual({ count: '0' })
  const credited = await x402('credit', '4', '--credits', '0.4')
  expect([credited.err, credited.out.trim()]).toEqual(['', 'Credited 0.4 Credits (400000 micro).'])
  expect((await x402('credit', '4')).err).toMatch(/not in review/)
  expect((await x402('refund', '5')).exitCode).toBe(2)
  const refunded = await x402('refund', '5', '--tx', `0x${'ef'.repeat(32)}`)
  expect([refunded.err, refunded.out.trim()]).toEqual(['', 'Recorded as refunded.'])
  const logged = await database.sql(
    `select action, target_id from audit_log where action in ('credit.payment', 'refund.payment') order by id`,
  )
  expect(logged).toEqual([
    { action: 'credit.payment', target_id: '4' },
    { action: 'refund.payment', target_id: '5' },
  ])
})
