import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../test/database.ts'
import { devUsdc, ordersFixture } from '../../test/orders-fixture.ts'
import { readTextFile } from '../config/read-file.ts'
import { systemClock } from '../kernel/clock.ts'
import { systemRandom } from '../kernel/random.ts'
import * as lifecycle from '../payments/orders/lifecycle.ts'
import { runProgram } from './program.ts'
import { reviewCommands } from './review.ts'
import { masked, withoutSigns } from './terminal.fixture.ts'

let database: TestDatabase
let it: ReturnType<typeof ordersFixture>
let folder: string
beforeAll(async () => {
  database = await freshDatabase()
  it = ordersFixture(database)
  // the terminal's clock is the machine's
  it.clock.set(new Date())
  folder = mkdtempSync(join(tmpdir(), 'farebox-review-'))
})
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true })
  await database.drop()
})

/** `farebox review ...` as this operator. */
async function review(operator: string, ...args: string[]) {
  let [out, err] = ['', '']
  const around = {
    environment: {
      DATABASE_URL: database.url,
      FAREBOX_DATA: folder,
      FAREBOX_REVIEW_ALONE_CREDITS: '10',
    },
    readFile: readTextFile,
    clock: systemClock,
    random: systemRandom,
    version: '0.0.0',
    host: 'test',
    pid: 1,
    userName: operator,
    isRunning: () => true,
    onStop: () => undefined,
    onReload: () => undefined,
    askToReload: () => undefined,
    write(text: string) {
      out += text
    },
    written: async () => undefined,
    writeError(text: string) {
      err += text
    },
  }
  const exitCode = await runProgram(['review', ...args], around, [reviewCommands])
  return { exitCode, out, err: withoutSigns(err) }
}

async function transfer(amount: bigint, orderId: string | null): Promise<string> {
  const txHash = it.hash()
  await database.sql(
    `insert into chain_transfers (chain_id, tx_hash, log_position, block, block_hash, block_at, token_address, payer, recipient, amount, state, order_id)
     values (31337, $1, 0, 7, '0x', now(), $2, $3, $4, $5, $6, $7)`,
    [
      txHash,
      devUsdc.token_address,
      `0x${'99'.repeat(20)}`,
      devUsdc.recipient_address,
      amount,
      orderId === null ? 'unmatched' : 'matched',
      orderId,
    ],
  )
  return txHash
}

async function inReview(received: bigint) {
  const payer = await it.payer()
  const id = await it.order(payer)
  const txHash = await transfer(received, id)
  await it.locked(id, (tx, order) =>
    lifecycle.suspect(tx, order, { reason: 'amount_mismatch', txHash, receivedMicro: received }, new Date()),
  )
  return { payer, id }
}

test('an empty queue says so, and a full one names each payment, its reason and its amounts', async () => {
  expect((await review('ann', 'list')).out).toBe('Nothing is in review.\n')
  const { id, payer } = await inReview(4_500_000n)
  const hash = await transfer(7_000_000n, null)
  expect(masked((await review('ann', 'list')).out.replace(hash, '<hash>'), { payer })).toMatchInlineSnapshot(`
    "PAYMENT  REASON  AGE  PAYER  RECEIVED  ASKED
    <uuid>  amount_mismatch  <age>  <payer>  4.5  5
    31337:<hash>:0  unmatched  <age>  0x9999999999999999999999999999999999999999  7  -

    RECEIVED and ASKED are units of the asset. Next: farebox review show <payment>"
  `)
  const json = JSON.parse((await review('ann', 'list', '--json')).out)
  expect([json.orders[0].id, json.transfers[0].id]).toEqual([id, `31337:${hash}:0`])
  expect((await review('ann', 'show', id)).out).toContain('amount_mismatch')
  expect((await review('ann', 'show', `31337:${hash}:0`)).out).toContain('7000000 micro')
})

test('a credit below the limit takes one operator, above it two of different names', async () => {
  const small = await inReview(10_000_000n)
  expect(await review('ann', 'credit', small.id, '--reason', 'the payer is known')).toEqual({
    exitCode: 0,
    out: 'Credited 10 Credits (10000000 micro).\n',
    err: '',
  })
  expect(await it.availableMicro(small.payer)).toBe(10_000_000n)
  const large = await inReview(10_000_001n)
  for (const operator of ['ann', 'ann'])
    expect((await review(operator, 'credit', large.id, '--reason', 'the payer is known')).out).toMatch(
      /^Proposed: .* another one has to run the same command before/,
    )
  expect(await it.availableMicro(large.payer)).toBe(0n)
  expect((await review('bob', 'credit', large.id, '--reason', 'seen too')).out).toMatch(/^Credited 10.000001 Credits/)
  expect(await it.availableMicro(large.payer)).toBe(10_000_001n)
  const again = await review('bob', 'credit', large.id, '--reason', 'once more')
  expect([again.exitCode, again.out]).toEqual([5, ''])
  expect(again.err).toContain('completed')
})

test('a refund names the transaction that sent the money back, and every decision its reason', async () => {
  const { id } = await inReview(1_000_000n)
  expect((await review('ann', 'refund', id, '--reason', 'x')).exitCode).toBe(2)
  expect((await review('ann', 'refund', id, '--reason', 'x', '--tx', '0x12')).exitCode).toBe(2)
  expect((await review('ann', 'dismiss', id)).exitCode).toBe(2)
  const tx = it.hash()
  expect((await review('ann', 'refund', id, '--reason', 'sent back', '--tx', tx)).out).toBe('Recorded as refunded.\n')
  expect((await review('ann', 'show', id)).out).toContain(tx)
})

test('a transfer without an order is credited to the account that is named, or dismissed', async () => {
  const payer = await it.payer()
  const [credited, dismissed] = [await transfer(3_000_000n, null), await transfer(3_000_000n, null)]
  expect((await review('ann', 'credit', `31337:${credited}:0`, '--reason', 'x')).exitCode).toBe(5)
  expect(
    (
      await review(
        'ann',
        'credit',
        `31337:${credited}:0`,
        '--reason',
        'asked by mail',
        '--account',
        String(payer),
        '--credits',
        '2.5',
      )
    ).out,
  ).toBe('Credited 2.5 Credits (2500000 micro).\n')
  expect(await it.availableMicro(payer)).toBe(2_500_000n)
  expect((await review('ann', 'dismiss', `31337:${dismissed}:0`, '--reason', 'spam')).out).toBe('Dismissed.\n')
  expect(await it.audit()).toEqual([])
})

test('what names no payment, and an account for an order, are refused with what to do', async () => {
  const { id } = await inReview(1_000_000n)
  for (const named of ['7', `31337:0x12:0`]) expect((await review('ann', 'show', named)).err).toMatch(/review list/)
  expect((await review('ann', 'show', it.deps.random.uuid())).exitCode).toBe(1)
  expect((await review('ann', 'credit', id, '--reason', 'x', '--account', '1')).exitCode).not.toBe(0)
  expect((await review('ann', 'credit', it.deps.random.uuid(), '--reason', 'x')).exitCode).toBe(5)
})
