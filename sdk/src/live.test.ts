import { generatePrivateKey } from 'viem/accounts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createFarebox, type Farebox, type FareboxOptions } from './client.ts'
import { type DevelopmentServer, startDevelopmentServer, walletOf } from './development-server.fixture.ts'
import { FareboxError, PaymentRejectedError } from './errors.ts'
import type { SignedPayment } from './x402.ts'

let server: DevelopmentServer
beforeAll(async () => {
  server = await startDevelopmentServer()
})
afterAll(() => server.stop())

const client = (options: Partial<FareboxOptions>): Farebox =>
  createFarebox({ baseUrl: server.url, sleep: shortly, ...options })
const shortly = () => new Promise<void>((resolve) => setTimeout(resolve, 100))
const payer = (index: number) => walletOf(server.development.payers[index]?.private_key ?? '')
const messages = [{ role: 'user', content: 'hello' }]

/** Asks the real server, and loses the first answers to the requests that are meant. */
function losing(count: number, isMeant: (url: string, init: RequestInit | undefined) => boolean) {
  const seen = { meant: 0 }
  const lossy: typeof fetch = async (url, init) => {
    const response = await fetch(url, init)
    if (!isMeant(String(url), init)) return response
    seen.meant += 1
    if (seen.meant > count) return response
    await response.arrayBuffer()
    throw new TypeError('fetch failed')
  }
  return { fetch: lossy, seen }
}
const everything = async <T>(list: AsyncIterable<T>): Promise<T[]> => {
  const all: T[] = []
  for await (const one of list) all.push(one)
  return all
}
const grants = (accountId: number) =>
  server.database.sql(`select from credit_grants where source = 'x402' and account_id = $1`, [accountId])

test('a top-up whose answers are lost is signed once and credited once', async () => {
  let signed = 0
  const account = payer(0)
  const wallet = {
    address: account.address,
    signMessage: account.signMessage,
    signTypedData(data: Parameters<typeof account.signTypedData>[0]) {
      signed += 1
      return account.signTypedData(data)
    },
  }
  const { fetch, seen } = losing(4, (_, init) => new Headers(init?.headers).has('payment-signature'))
  const paid = await client({ wallet, fetch }).topUp({ amountMicro: 700_000n })
  expect(paid).toMatchObject({ status: 'credited', amount_added: 700_000 })
  expect([signed, seen.meant > 4]).toEqual([1, true])
  expect(await grants(paid.account_id)).toHaveLength(1)
})

test('a payment that was kept is one payment, however many processes go on with it at once', async () => {
  let kept: SignedPayment | undefined
  const dying = client({ wallet: payer(1) }).topUp({
    amountMicro: 600_000n,
    onSigned(payment) {
      kept = payment
      throw new Error('the process dies')
    },
  })
  await expect(dying).rejects.toThrow('the process dies')
  if (!kept) throw new Error('nothing was signed')
  const payment = kept
  const answers = await Promise.all([1, 2, 3].map(() => client({}).resumeTopUp(payment)))
  expect(new Set(answers.map(({ payment_id }) => payment_id)).size).toBe(1)
  expect(await grants(answers[0]?.account_id ?? 0)).toHaveLength(1)
})

test('a wallet without tokens is told that no money moved, and why', async () => {
  const error = await client({ wallet: walletOf(generatePrivateKey()) })
    .topUp({ amountMicro: 500_000n })
    .catch((error: unknown) => error)
  expect(error).toBeInstanceOf(PaymentRejectedError)
  expect(error).toMatchObject({ status: 402, reason: 'insufficient_funds' })
})

test('nothing is signed for another token or network than the caller allows', async () => {
  const farebox = client({ wallet: payer(0) })
  const amountMicro = 500_000n
  await expect(farebox.topUp({ amountMicro, network: 'eip155:1' })).rejects.toBeInstanceOf(TypeError)
  await expect(farebox.topUp({ amountMicro, asset: `0x${'1'.repeat(40)}` })).rejects.toBeInstanceOf(TypeError)
})

test('a chat whose answer is lost is one call and one charge', async () => {
  const wallet = payer(2)
  await client({ wallet }).topUp({ amountMicro: 1_000_000n })
  const { fetch, seen } = losing(2, (url) => url.endsWith('/chat/completions'))
  const farebox = client({ wallet, fetch })
  const { usage } = await farebox.chat({ model: 'demo-chat', messages })
  expect(seen.meant).toBe(3)
  expect(await everything(farebox.credits.calls())).toMatchObject([{ charged_micro: usage.cost_micro }])
})

test('50 calls at once after an hour make one refresh at the real server', async () => {
  const { fetch, seen } = losing(0, (url) => url.endsWith('/auth/refresh'))
  let aheadMs = 0
  const farebox = client({ wallet: payer(2), fetch, now: () => Date.now() + aheadMs })
  await farebox.auth.signIn()
  aheadMs = 3_600_000
  await Promise.all(Array.from({ length: 50 }, () => farebox.credits.balance()))
  expect(seen.meant).toBe(1)
})

test('a stream gives the text in pieces, then usage and cost', async () => {
  const farebox = client({ apiKey: server.development.owner.api_key })
  const parts = await everything(farebox.chatStream({ model: 'demo-chat', messages }))
  expect(parts.map(({ text }) => text).join('')).toContain('hello')
  expect(parts.findIndex(({ usage }) => usage !== undefined)).toBe(parts.length - 1)
  expect(parts.at(-1)?.usage?.cost_micro).toBeGreaterThan(0)
})

test('a stream that breaks is an error with the server’s message, and its call waits among the settlements', async () => {
  const farebox = client({ wallet: payer(2) })
  const body = { model: 'demo-failing', messages: [{ role: 'user', content: 'fail:cut' }] }
  const error = await everything(farebox.chatStream(body)).catch((error: unknown) => error)
  expect(error).toBeInstanceOf(FareboxError)
  expect(error).toMatchObject({
    message: expect.stringMatching(/broke off/),
    requestId: expect.stringMatching(/^req_/),
  })
  const [call] = await everything(farebox.credits.calls({ model: 'demo-failing' }))
  expect(await everything(farebox.credits.settlements())).toMatchObject([{ request_id: call?.request_id }])
})

test('refunds are read to their end, and a call that succeeded has none', async () => {
  const farebox = client({ wallet: payer(2) })
  const [call] = await everything(farebox.credits.calls({ model: 'demo-chat' }))
  const refused = farebox.credits.applyForRefund(call?.call_id ?? 0, 'a test')
  await expect(refused).rejects.toMatchObject({ name: 'ConflictError', code: 'call_not_refundable' })
  expect(await everything(farebox.credits.refunds())).toEqual([])
})

test('whoever stops reading a stream closes it, and the server goes on', async () => {
  const farebox = client({ apiKey: server.development.owner.api_key })
  for await (const { text } of farebox.chatStream({ model: 'demo-chat', messages })) if (text !== '') break
  expect((await farebox.models()).data.length).toBeGreaterThan(0)
})
