import { expect, test } from 'vitest'
import { type Reply, scripted } from './answers.fixture.ts'
import { PaymentUnsettledError } from './x402.ts'

const payment = { amountMicro: '1000000', proof: 'signed' }
const waiting = (headers: Record<string, string> = {}): Reply => ({
  status: 202,
  headers,
  body: { status: 'awaiting_settlement', message: 'It is on its way.' },
})

test('a payment that never ends is given up after ten minutes with what resumes it, however soon the server lets ask', async () => {
  const { farebox, sleptMs } = scripted(() => waiting({ 'retry-after': '0' }))
  const error = await farebox.resumeTopUp(payment).catch((error: unknown) => error)
  expect(error).toBeInstanceOf(PaymentUnsettledError)
  expect(error).toMatchObject({ payment, paymentStatus: 'awaiting_settlement' })
  expect(Math.min(...sleptMs)).toBe(200)
  expect(sleptMs).toHaveLength(3_000)
})

test('tries that take their whole time count against the patience', async () => {
  let nowMs = 0
  const { farebox, sent } = scripted(
    () => {
      nowMs += 60_000
      return 'lost'
    },
    { now: () => nowMs },
  )
  await expect(farebox.resumeTopUp(payment)).rejects.toBeInstanceOf(PaymentUnsettledError)
  expect(sent).toHaveLength(10)
})
