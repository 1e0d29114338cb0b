import { ExactEvmScheme } from '@x402/evm/exact/client'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { privateKeyToAccount } from 'viem/accounts'
import type { Person } from './people.ts'
import type { BrowserWorld } from './world.ts'

/** The owner makes a call whose cost stays unknown; gives the id that it is asked about by. */
export async function unknownCost(world: BrowserWorld, owner: Person): Promise<string> {
  await world.call(owner, '/v1/chat/completions', chat('demo-unmetered'))
  const { data } = (await world.call(owner, '/v1/calls?model=demo-unmetered&limit=1')) as {
    data: ReadonlyArray<{ request_id: string; status: string }>
  }
  const [newest] = data
  if (newest?.status !== 'usage_unknown')
    throw new Error(`the call should be of unknown cost, and is ${newest?.status}`)
  return newest.request_id
}

/** What `farebox` exits with where nothing was charged. */
const CONFLICT = 5

/** The operator says what it cost: more than was held, and more than the owner has. */
export async function costsMore(world: BrowserWorld, requestId: string, micro: number): Promise<void> {
  const reason = ['--reason', 'the bill of the provider']
  const resolve = ['hold', 'resolve', requestId, '--actual', String(micro), '--above-hold', ...reason]
  const exitCode = await world.operator(...resolve).then(
    () => 0,
    (error: { code: number }) => error.code,
  )
  if (exitCode !== CONFLICT) throw new Error(`hold of ${requestId} did not become a shortfall: exit code ${exitCode}`)
}

/** Somebody's picture fails, and the provider charges for it all the same. */
export async function failedAfterCharge(world: BrowserWorld, person: Person): Promise<void> {
  const body = { model: 'demo-image-failing', prompt: 'fail:billed' }
  const made = (await world.call(person, '/v1/images/generations', body)) as { poll_url: string }
  const task = (await world.call(person, `${made.poll_url}?wait=30`)) as { state: string }
  if (task.state !== 'fail') throw new Error(`the picture should have failed, and is ${task.state}`)
}

const chat = (model: string) => ({ model, max_tokens: 50, messages: [{ role: 'user', content: 'hello' }] })

/** Whose pages have rows. */
export interface Seeded {
  readonly owner: Person
  readonly agent: Person
  /** Of the owner's linked wallet. */
  readonly privateKey: string
}

/** Something of everything that has rows, so that pages are looked at with rows too. */
export async function seed(world: BrowserWorld, { owner, agent, privateKey }: Seeded): Promise<void> {
  const images = [
    ['demo-image', 'A lighthouse at night'],
    ['demo-image-failing', 'fail:unknown'],
    ['demo-image-failing', 'fail:failed'],
    ['demo-image-failing', 'fail:timeout'],
  ] as const
  for (const person of [owner, agent]) {
    for (const model of ['demo-chat', 'demo-chat', 'demo-unmetered'])
      await world.call(person, '/v1/chat/completions', chat(model))
    for (const [model, prompt] of images) await world.call(person, '/v1/images/generations', { model, prompt })
    await failedAfterCharge(world, person)
  }
  await costsMore(world, await unknownCost(world, owner), 1_100_000_000)
  await world.operator('credits', 'grant', String(owner.accountId), '150', '--reason', 'a present')
  await payByX402(world, privateKey)
  await seedByClicks(world, owner)
}

/** The owner's wallet buys two Credits without an order. */
async function payByX402({ development: { x402 } }: BrowserWorld, privateKey: string): Promise<void> {
  const { network, asset } = x402
  const wallet = privateKeyToAccount(privateKey as `0x${string}`)
  const client = new x402Client().register(network, new ExactEvmScheme(wallet)).setSpendControls({
    maxAmountPerPayment: '$10',
    allowedAssets: [{ network, asset, maxAmountPerPayment: '10000000' }],
  })
  const response = await wrapFetchWithPayment(fetch, client)(`${x402.topup_url}?amount_micro=2000000`)
  if (!response.ok) throw new Error(`the payment was answered ${response.status}: ${await response.text()}`)
}

/** What only a signed-in owner may do. */
async function seedByClicks(world: BrowserWorld, owner: Person): Promise<void> {
  const visitor = await world.visitor()
  const page = await visitor.tab()
  await visitor.signIn(page, owner.email, '/console/refunds')
  await page.getByRole('button', { name: /^Refund call/ }).click()
  await page.getByLabel('Why').fill('the picture never came')
  await page.getByRole('button', { name: 'Ask for the refund' }).click()
  await page.getByRole('dialog').getByText('The Credits are back').waitFor()
  await page.goto('/console/webhooks')
  await page.getByRole('button', { name: 'New endpoint' }).click()
  await page.getByLabel('URL').fill(`${world.development.base_url}/v1/nothing-here`)
  await page.getByLabel('Description').fill('A server that is not there')
  await page.getByRole('button', { name: 'Create endpoint' }).click()
  await page.getByLabel('I have stored it').check()
  await page.getByRole('button', { name: 'Close' }).click()
  await page.getByRole('button', { name: 'Send a test' }).click()
  await page.getByText('webhook.test').waitFor()
  await visitor.context.close()
}
