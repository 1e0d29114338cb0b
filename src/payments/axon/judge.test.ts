import { expect, test } from 'vitest'
import type { NativePayment } from '../../chains/native-payment.ts'
import { type Circumstances, type Judgement, judge } from './judge.ts'

const AT = new Date('2026-11-20T12:00:00Z')
const after = (seconds: number) => new Date(AT.getTime() + seconds * 1000)
const [US, FORMER, ELSEWHERE, OURS, STRANGER] = ['a', 'b', 'c', 'd', 'e'].map((digit) => `0x${digit.repeat(40)}`)
const COIN = 10n ** 18n

const payment = (change: Partial<NativePayment> = {}): NativePayment => ({
  payer: OURS ?? '',
  recipient: US,
  value: 2n * COIN,
  succeeded: true,
  objection: undefined,
  block: 7n,
  blockHash: '0x7',
  blockAt: AT,
  ...change,
})
const around = (change: Partial<Circumstances> = {}): Circumstances => ({
  payToAddress: US ?? '',
  retiredAddresses: [FORMER ?? ''],
  wallets: [OURS ?? ''],
  payerIsAnothers: false,
  quote: undefined,
  rateThen: COIN,
  rateNow: COIN,
  minTopupMicro: 1_000_000n,
  maxTopupMicro: 100_000_000n,
  unquoted: 'review',
  ...change,
})
const quote = (change: { createdAt?: Date; expiresAt?: Date; creditMicro?: bigint } = {}) => ({
  id: 5n,
  creditMicro: 3_000_000n,
  createdAt: after(-300),
  expiresAt: after(300),
  ...change,
})
const quoted: Judgement = { kind: 'credit', creditMicro: 3_000_000n, quoteId: 5n }
const refused = (reason: string, arrives: boolean) => ({ kind: 'refuse', reason, arrives })
const review = (reason: string, worthMicro: bigint | undefined = 2_000_000n) => ({ kind: 'review', reason, worthMicro })

test.each<[string, Partial<NativePayment>, Partial<Circumstances>, object]>([
  ['pays somebody else', { recipient: ELSEWHERE }, {}, refused('wrong_recipient', false)],
  ['makes a contract', { recipient: undefined }, {}, refused('wrong_recipient', false)],
  ['failed', { succeeded: false }, { quote: quote() }, { kind: 'fail' }],
  ['carries nothing', { value: 0n }, {}, refused('amount_below_minimum', false)],
  ['comes from nobody we know', { payer: STRANGER ?? '' }, { quote: quote() }, refused('wrong_payer', true)],
  ['comes from another account', { payer: STRANGER ?? '' }, { payerIsAnothers: true }, refused('wrong_payer', false)],
  ['carries data', { objection: 'a call' }, { quote: quote() }, review('not_plain')],
  ['pays a quote in time', {}, { quote: quote() }, quoted],
  ['pays it at its end', {}, { quote: quote({ expiresAt: AT }) }, quoted],
  ['pays it a minute after its end', {}, { quote: quote({ expiresAt: after(-60) }), rateThen: 1n }, quoted],
  ['pays it later, and the coin rose', {}, { quote: quote({ expiresAt: after(-61) }), rateThen: 9n * COIN }, quoted],
  [
    'pays it later, and the coin fell',
    {},
    { quote: quote({ expiresAt: after(-61) }) },
    { ...quoted, creditMicro: 2_000_000n },
  ],
  [
    'pays it later, and nobody knows what the coin was worth',
    {},
    { quote: quote({ expiresAt: after(-61) }), rateThen: undefined },
    review('stale_quote'),
  ],
  ['pays it a minute before it was made', {}, { quote: quote({ createdAt: after(60) }) }, quoted],
  ['is older than the quote', {}, { quote: quote({ createdAt: after(61) }) }, review('unquoted')],
  ['pays a former address', { recipient: FORMER }, {}, review('old_recipient')],
  ['pays a former address, as its quote says', { recipient: FORMER }, { quote: quote() }, quoted],
  ['pays what its quote says, wherever', { recipient: ELSEWHERE }, { quote: quote() }, quoted],
  ['pays too little', { value: COIN / 2n }, {}, refused('amount_below_minimum', true)],
  ['pays a little quote', { value: 1n }, { quote: quote() }, quoted],
  ['was quoted by nobody', {}, {}, review('unquoted')],
  [
    'was quoted by nobody, and is taken',
    {},
    { unquoted: 'spot' },
    { kind: 'credit', creditMicro: 2_000_000n, quoteId: undefined },
  ],
  ['is taken only at a rate of its time', {}, { unquoted: 'spot', rateThen: undefined }, review('unquoted')],
  ['is worth too much', {}, { unquoted: 'spot', maxTopupMicro: 1_999_999n }, review('amount_above_maximum')],
  [
    'is worth nobody knows what',
    {},
    { rateThen: undefined, rateNow: undefined },
    { kind: 'review', reason: 'unquoted', worthMicro: undefined },
  ],
])('a payment that %s', (_, changed, circumstances, expected) => {
  expect(judge(payment(changed), around(circumstances))).toEqual(expected)
})
