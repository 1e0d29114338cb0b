import {
  AuthenticationError,
  createFarebox,
  FareboxError,
  PaymentRejectedError,
  verifyWebhook,
  WebhookNotAuthentic,
} from '@farebox/sdk'
import { createFareboxProvider } from '@farebox/sdk/ai'
import { generateText, streamText } from 'ai'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'

/** Where the server is, who pays, and a webhook that it delivered. */
export interface SmokeSettings {
  readonly baseUrl: string
  readonly privateKey: `0x${string}`
  readonly delivery: {
    readonly body: string
    readonly headers: Readonly<Record<string, string>>
    readonly secret: string
  }
}

/** What the SDK promises, tried once each on whatever runtime this is. Gives a line for each; rejects at the first that fails. */
export async function smoke({ baseUrl, privateKey, delivery }: SmokeSettings): Promise<string[]> {
  const done: string[] = []
  const wallet = privateKeyToAccount(privateKey)
  const farebox = createFarebox({ baseUrl, wallet })
  const expect = (what: string, holds: boolean): void => {
    if (!holds) throw new Error(`${what}: not so`)
    done.push(what)
  }
  const messages = [{ role: 'user', content: 'hello' }]

  const { account } = await farebox.auth.signIn()
  expect('signs in by key', account.wallet_address === wallet.address)
  const before = await farebox.credits.balance()
  expect('reads the balance', before.account_id === account.id)

  const paid = await farebox.topUp({ amountMicro: 1_000_000n })
  expect('tops up by x402', paid.status === 'credited' && paid.account_id === account.id)
  const after = await farebox.credits.balance()
  expect('has the Credits', after.available_micro === before.available_micro + 1_000_000)
  const poor = createFarebox({ baseUrl, wallet: privateKeyToAccount(generatePrivateKey()) })
  const refused = await poor.topUp({ amountMicro: 1_000_000n }).catch((error: unknown) => error)
  expect('is told why a payment was rejected', refused instanceof PaymentRejectedError && refused.reason !== '')

  const answer = await farebox.chat({ model: 'demo-chat', messages })
  expect('chats', String(answer.choices[0]?.message.content).includes('hello') && answer.usage.cost_micro > 0)
  let text = ''
  let cost = 0
  for await (const part of farebox.chatStream({ model: 'demo-chat', messages })) {
    text += part.text
    cost = part.usage?.cost_micro ?? cost
  }
  expect('streams a chat with its cost', text.includes('hello') && cost > 0)
  for await (const part of farebox.chatStream({ model: 'demo-chat', messages })) if (part.text !== '') break
  expect('stops a stream early', (await farebox.models()).data.length > 0)

  const { task_id } = await farebox.tasks.image({ model: 'demo-image', prompt: 'a lighthouse', size: '256x256' })
  const task = await farebox.tasks.wait(task_id, { signal: AbortSignal.timeout(60_000) })
  const picture = await fetch(task.result?.data[0]?.url ?? '')
  const bytes = new Uint8Array(await picture.arrayBuffer())
  expect(
    'follows a task to its picture',
    task.state === 'success' && String.fromCharCode(...bytes.slice(1, 4)) === 'PNG',
  )

  let listed = 0
  for await (const call of farebox.credits.calls()) listed += call.charged_micro > 0 ? 1 : 0
  expect('lists its calls', listed >= 3)
  const unknown = await farebox.tasks.read('task_none').catch((error: unknown) => error)
  expect('gives errors their code', unknown instanceof FareboxError && unknown.code === 'task_not_found')

  const event = await verifyWebhook(delivery)
  const forged = await verifyWebhook({ ...delivery, body: `${delivery.body} ` }).catch((error: unknown) => error)
  expect('verifies a webhook', event.type === 'webhook.test' && forged instanceof WebhookNotAuthentic)

  const provider = createFareboxProvider({ baseUrl, apiKey: farebox.auth.accessToken })
  const generated = await generateText({ model: provider('demo-chat'), prompt: 'hello' })
  expect('speaks to the AI SDK', generated.text.includes('hello'))
  const streamed = await streamText({ model: provider('demo-chat'), prompt: 'hello' }).text
  expect('streams to the AI SDK', streamed.includes('hello'))

  const accessToken = await farebox.auth.accessToken()
  const renewed = await farebox.auth.renew(accessToken)
  expect('renews its session', renewed !== accessToken)
  await farebox.auth.signOut()
  const kept = { accessToken: renewed, refreshToken: '', expiresAt: Number.POSITIVE_INFINITY }
  const ended = createFarebox({ baseUrl, tokens: { read: async () => kept, write: async () => undefined } })
  const over = await ended.credits.balance().catch((error: unknown) => error)
  expect('ends its session', over instanceof AuthenticationError)
  return done
}
