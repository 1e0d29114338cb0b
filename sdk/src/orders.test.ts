import { expect, test } from 'vitest'
import { type Reply, refusal, type SentRequest, scripted } from './answers.fixture.ts'
import { ConflictError, UnavailableError } from './errors.ts'
import { NothingWasSent, type Order, type SendTransfer, sendBy, transferOf } from './orders.ts'
import { memoryStore } from './session.ts'

const order = {
  id: 'order-1',
  chain_id: 8453,
  amount_micro: '5000000',
  payer_address: '0x00000000000000000000000000000000000000aa',
  token_address: '0x00000000000000000000000000000000000000bb',
  recipient_address: '0x00000000000000000000000000000000000000Cc',
  status: 'pending',
} as Order
const reserved: Reply = { status: 200, body: { data: { order, attempt_id: 'attempt-1' } } }
const REJECT = '/v1/payments/orders/order-1/attempts/attempt-1/reject'

async function paying(
  send: SendTransfer,
  reply: (request: SentRequest) => Reply = () => ({ status: 200, body: { data: order } }),
) {
  const tokens = memoryStore()
  await tokens.write({ accessToken: 'a', refreshToken: 'r', expiresAt: Number.MAX_SAFE_INTEGER })
  const { farebox, sent } = scripted((request) => (request.path.endsWith('/attempts') ? reserved : reply(request)), {
    tokens,
  })
  const outcome = await farebox.orders.pay(order, send).catch((error: unknown) => error)
  return { outcome, paths: sent.map(({ path }) => path) }
}

test('the transfer is a direct one of exactly the order’s amount to exactly its recipient', () => {
  expect(transferOf(order)).toEqual({
    chainId: 8453,
    from: order.payer_address,
    to: order.token_address,
    data: `0xa9059cbb${'cc'.padStart(64, '0')}${(5_000_000).toString(16).padStart(64, '0')}`,
    value: '0x0',
  })
})

test.each([
  new Error('timeout'),
  new TypeError('fetch failed'),
  Object.assign(new Error('disconnected'), { code: 4900 }),
  Object.assign(new Error('internal'), { code: -32603 }),
  'a string',
  undefined,
])('an attempt whose outcome is unknown (%s) is never taken back', async (thrown) => {
  const { outcome, paths } = await paying(() => Promise.reject(thrown))
  expect(outcome).toBe(thrown)
  expect(paths).toEqual(['/v1/payments/orders/order-1/attempts'])
})

test('an attempt of which nothing was sent is taken back, though an answer is lost', async () => {
  let lost = 0
  const { outcome, paths } = await paying(
    () => Promise.reject(new NothingWasSent('no')),
    () => (lost++ === 0 ? 'lost' : { status: 200, body: { data: order } }),
  )
  expect(outcome).toBeInstanceOf(NothingWasSent)
  expect(paths.slice(1)).toEqual([REJECT, REJECT])
})

test.each<[string, Reply]>([
  ['refused since another is out', refusal(409, 'attempt_active')],
  ['lost', 'lost'],
])('the wallet is not asked when the attempt is %s, and the reservation is asked for once', async (_, reply) => {
  const { farebox, sent } = scripted(() => reply, {
    tokens: { read: async () => ({ accessToken: 'a', refreshToken: 'r', expiresAt: Infinity }), write: async () => {} },
  })
  let asked = 0
  const send = async () => {
    asked += 1
    return '0xhash'
  }
  const Class = reply === 'lost' ? UnavailableError : ConflictError
  await expect(farebox.orders.pay(order, send)).rejects.toBeInstanceOf(Class)
  expect([asked, sent.length]).toEqual([0, 1])
})

test('a payment whose hash could not be registered is followed, not paid again', async () => {
  const { outcome, paths } = await paying(
    async () => '0xhash',
    ({ method }) => (method === 'POST' ? 'lost' : { status: 200, body: { data: { ...order, status: 'confirming' } } }),
  )
  expect(outcome).toMatchObject({ status: 'confirming' })
  expect(paths.some((path) => path.endsWith('/reject'))).toBe(false)
})

const walletOn = (chainId: string, send: () => Promise<unknown>) => ({
  request: ({ method }: { method: string }) => (method === 'eth_chainId' ? Promise.resolve(chainId) : send()),
})

test.each([
  [4001, true],
  [4100, false],
  [4900, false],
  [-32000, false],
  [undefined, false],
])('of a browser wallet’s errors, code %s says that nothing was sent: %s', async (code, isNothing) => {
  const send = sendBy(walletOn('0x2105', () => Promise.reject(Object.assign(new Error('no'), { code }))))
  const error = await send(transferOf(order)).catch((error: unknown) => error)
  expect(error instanceof NothingWasSent).toBe(isNothing)
})

test('a browser wallet on another chain is not asked to send', async () => {
  let asked = 0
  const send = sendBy(walletOn('0x1', async () => void asked++))
  await expect(send(transferOf(order))).rejects.toBeInstanceOf(NothingWasSent)
  expect(asked).toBe(0)
})
