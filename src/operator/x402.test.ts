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
  expect(payments).toHaveLength(2)
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
  expect(rows.map(({ status }) => status)).toEqual(['failed', 'pending', 'failed'])
  const logged = await database.sql<{ reason: string }>(`select reason from audit_log where action = 'dismiss.payment'`)
  expect(logged).toEqual([{ reason: 'nothing is owed' }])
})
