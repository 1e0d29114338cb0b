import { afterAll, beforeAll, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../../test/database.ts'
import { handMovedClock, START } from '../../../test/orders-fixture.ts'
import { openKeyring } from '../../identity/tokens/keyring.ts'
import { createTokens, type Tokens } from '../../identity/tokens/service.ts'
import { systemRandom } from '../../kernel/random.ts'
import { CONTEXT_LIFETIME_MS } from '../orders/context-port.ts'
import { contextTokens } from './tokens.ts'

let database: TestDatabase
let tokens: Tokens
const clock = handMovedClock()
beforeAll(async () => {
  database = await freshDatabase()
  tokens = createTokens({
    keyring: await openKeyring({
      db: database.db,
      pepper: Buffer.alloc(32, 1),
      random: systemRandom,
      clock,
    }),
    clock,
  })
})
afterAll(() => database.drop())

const bound = { payerAccountId: 7n, recipientAccountId: 9n, amountMicro: 8_999_999_999_999_999n }

test('a signed context says exactly what it was made of, for 15 minutes and not longer', async () => {
  const contexts = contextTokens(tokens)
  const token = await contexts.sign(bound, START)
  clock.set(new Date(START.getTime() + CONTEXT_LIFETIME_MS - 1))
  expect(await contexts.verify(token, clock.now())).toEqual(bound)
  clock.by(1)
  expect(await contexts.verify(token, clock.now())).toBe('expired')
})

test('tokens of another kind, changed ones and what is no token bind nothing', async () => {
  clock.set(START)
  const contexts = contextTokens(tokens)
  const token = await contexts.sign(bound, START)
  const [head = '', body = '', signature = ''] = token.split('.')
  const richer = Buffer.from(Buffer.from(body, 'base64url').toString().replace('"9"', '"7"')).toString('base64url')
  const access = await tokens.sign('access', {
    accountId: 7n,
    claims: { recipient: '7', amount_micro: '1' },
    issuedAt: START,
  })
  for (const forged of [
    access,
    `${head}.${richer}.${signature}`,
    `${head}.${body}.`,
    `${head}.${body}`,
    'context',
    '',
  ]) {
    expect(await contexts.verify(forged, START)).toBe('invalid')
  }
  expect(await tokens.verify('access', token)).toBeUndefined()
})
