import type { Page } from 'playwright-core'
import { createWalletClient, encodeFunctionData, http, parseAbi } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { until } from '../app.ts'
import { accessibilityProblems, type BrowserWorld, startBrowserWorld, type Visitor } from './world.ts'

vi.setConfig({ testTimeout: 120_000 })

let world: BrowserWorld
let visitor: Visitor
let page: Page
beforeAll(async () => {
  world = await startBrowserWorld()
  visitor = await world.visitor()
  page = await visitor.tab()
  await Promise.all([visitor.signIn(page), somethingToDecide()])
}, 120_000)
afterAll(() => world?.stop())

/** A call of unknown cost, an order for which another amount arrived, and a transfer that nobody asked for. */
async function somethingToDecide(): Promise<void> {
  const messages = [{ role: 'user', content: 'hello' }]
  await world.call('agent', '/v1/chat/completions', { model: 'demo-unmetered', messages }).catch(() => undefined)
  const { agent, payers } = world.development
  await orderOf(agent.private_key, '5000000')
  await pay(agent.private_key, 4_000_000n)
  await pay(payers[0]?.private_key ?? '', 7_000_000n)
  const waiting = async () =>
    JSON.parse(await world.operator('review', 'list', '--json')) as { orders: unknown[]; transfers: unknown[] }
  await until(async () => {
    const { orders, transfers } = await waiting()
    return orders.length === 1 && transfers.length === 1
  }, 'both payments are in review')
}

/** An order for this many micro units of the stablecoin, made by whoever has the key. */
async function orderOf(key: string, amountMicro: string): Promise<void> {
  const wallet = privateKeyToAccount(key as `0x${string}`)
  const asked = await post('/v1/auth/challenge', { wallet_address: wallet.address })
  const { tokens } = await post('/v1/auth/verify', {
    challenge_id: asked.challenge_id,
    signature: await wallet.signMessage({ message: String(asked.message) }),
  })
  const { access_token: token } = tokens as { access_token: string }
  const order = { asset_id: 'dev_usdc', amount_micro: amountMicro, idempotency_key: 'another-amount' }
  await post('/v1/payments/orders', order, token)
}

async function post(path: string, body: object, token?: string): Promise<Record<string, unknown>> {
  const response = await fetch(`${world.development.base_url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(token ? { authorization: `Bearer ${token}` } : {}) },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text}`)
  return JSON.parse(text)
}

/** Sends tokens to the server's recipient, whatever was asked for. */
async function pay(key: string, amount: bigint): Promise<void> {
  const { rpc_url, token_address, recipient_address } = world.development.chain
  const client = createWalletClient({ account: privateKeyToAccount(key as `0x${string}`), transport: http(rpc_url) })
  await client.sendTransaction({
    chain: null,
    to: token_address,
    data: encodeFunctionData({
      abi: parseAbi(['function transfer(address to, uint256 amount)']),
      args: [recipient_address, amount],
    }),
  })
}

async function picture(of: Page, name: string): Promise<void> {
  const folder = process.env.FAREBOX_SCREENSHOTS
  if (folder) await of.screenshot({ path: `${folder}/operator-${name}.png`, fullPage: true })
}

const heading = (name: string) => page.getByRole('heading', { name, level: 1 }).waitFor()
const dialog = () => page.getByRole('dialog')

test('the overview says what waits, how the treasury stands and how old each part is, in words', async () => {
  await page.goto('/console/operator')
  const waiting = page.getByRole('region', { name: 'What needs you' })
  await waiting.getByText('1 order, 1 transfer without an order').waitFor()
  await waiting.getByText(/^1 call, [0-9.]+ Credits held/).waitFor()
  expect(await waiting.getByText('Look today').count()).toBe(2)
  await page.getByRole('table', { name: 'Received and credited, by asset' }).getByText('dev_usdc').waitFor()
  await page.getByText(/What this process, .* saw since/).waitFor()
  expect(await accessibilityProblems(page)).toEqual([])
  await picture(page, 'overview')
  await page.getByLabel('Days').selectOption('31')
  await page.waitForURL(/days=.*31/)
  await waiting.getByRole('link', { name: 'Calls of unknown cost' }).click()
  await heading('Holds that wait')
  expect(visitor.complaints).toEqual([])
})

test('a hold of unknown cost is ended with a reason, after the page has said whose Credits that takes', async () => {
  await page.goto('/console/operator/holds')
  await page.getByRole('link', { name: /^Look at hold/ }).waitFor()
  await picture(page, 'holds')
  await page.getByRole('link', { name: /^Look at hold/ }).click()
  await page.getByText('Not known, which is not free').waitFor()
  await page.getByRole('button', { name: "Ask the provider's record" }).click()
  await page.getByText('No provider that may have call').waitFor()
  visitor.complaints.length = 0
  await page.getByRole('button', { name: 'End this hold' }).click()
  await dialog().getByLabel('Credits').fill('0.0001')
  await dialog()
    .getByText(/^Account \d+ pays 0.0001 Credits out of what is held/)
    .waitFor()
  expect(await dialog().getByRole('button', { name: 'Charge 0.0001 Credits' }).isDisabled()).toBe(true)
  await dialog().getByLabel('Reason').fill('its invoice')
  expect(await accessibilityProblems(page)).toEqual([])
  await picture(page, 'hold-dialog')
  await dialog().getByRole('button', { name: 'Charge 0.0001 Credits' }).click()
  await page.getByRole('status').getByText('ended: 0.0001 Credits charged').waitFor()
  await page.getByText('its invoice').waitFor()
  await picture(page, 'hold')
  await page.goto('/console/operator/holds')
  await page.getByText('No hold waits').waitFor()
  expect(visitor.complaints).toEqual([])
})

test('a payment shows what was asked for beside what arrived, and is credited with a reason, once', async () => {
  const { agent } = world.development
  await page.goto('/console/operator/reviews')
  await page.getByRole('row', { name: /Another amount arrived than the order asked for/ }).waitFor()
  await picture(page, 'reviews')
  await page
    .getByRole('row', { name: /Another amount/ })
    .getByRole('link', { name: /^Look at/ })
    .click()
  await page.getByText('4 USDC').waitFor()
  await page.getByText('5 USDC').waitFor()
  expect(await accessibilityProblems(page)).toEqual([])
  await picture(page, 'review')
  await page.getByRole('button', { name: 'Give Credits' }).click()
  await dialog().getByText(`Account ${agent.account_id} (`).waitFor()
  await dialog().getByLabel('Credits').fill('4.5')
  await dialog().getByText('at most 4, which is what arrived is worth').waitFor()
  await dialog().getByLabel('Credits').fill('4')
  await dialog().getByLabel('Reason').fill('seen with the payer')
  expect(await accessibilityProblems(page)).toEqual([])
  await picture(page, 'review-dialog')
  await dialog().getByRole('button', { name: 'Give Credits' }).dblclick()
  await page.getByRole('status').getByText('4 Credits were given').waitFor()
  await page.getByText('Nothing is to be decided here any more').waitFor()
  const { data } = (await world.call('agent', '/v1/credits/ledger')) as {
    data: ReadonlyArray<{ amount_micro: number }>
  }
  expect(data.filter(({ amount_micro }) => amount_micro === 4_000_000)).toHaveLength(1)
  expect(visitor.complaints).toEqual([])
})

test('a transfer that nobody asked for names no account; dismissing it asks for a reason and says that nobody gets Credits', async () => {
  await page.goto('/console/operator/reviews?kind=transfer')
  await page.getByRole('link', { name: /^Look at/ }).click()
  await page.getByText('no order or quote asked for it').waitFor()
  await page.getByRole('button', { name: 'Dismiss' }).click()
  await dialog().getByText('nobody gets Credits for what arrived').waitFor()
  await dialog().getByLabel('Reason').fill('a test of the chain')
  await page.keyboard.press('Enter')
  await page.getByRole('status').getByText('Dismissed.').waitFor()
  await page.goto('/console/operator/reviews')
  await page.getByText('Queue empty').waitFor()
  expect(visitor.complaints).toEqual([])
})

test('the prices are shown with their margins, and the file says what is in force', async () => {
  await page.goto('/console/operator/prices')
  await page.getByText('The file says what is in force').waitFor()
  await page.getByRole('table', { name: 'Prices of chat models, for a million tokens' }).waitFor()
  await page.getByRole('table', { name: 'Prices of capabilities, for one unit' }).waitFor()
  expect(await accessibilityProblems(page)).toEqual([])
  await picture(page, 'prices')
  expect(visitor.complaints).toEqual([])
})

test('a chain that cannot be read disables what depends on it, and says so', async () => {
  await page.route('**/v1/admin/reviews/x402%3A1', (route) =>
    route.fulfill({ json: { data: outOfReach, request_id: 'req_1' } }),
  )
  await page.goto('/console/operator/reviews/x402:1')
  await page.getByText('The chain cannot be read now', { exact: true }).waitFor()
  expect(await page.getByRole('button', { name: 'Give Credits' }).isDisabled()).toBe(true)
  expect(await page.getByRole('button', { name: 'Dismiss' }).isDisabled()).toBe(false)
  expect(await accessibilityProblems(page)).toEqual([])
  await picture(page, 'review-no-chain')
  await page.unroute('**/v1/admin/reviews/x402%3A1')
  expect(visitor.complaints).toEqual([])
})

test('a server that is away is said with a way on, and what it refuses with its request id', async () => {
  await page.route('**/v1/admin/**', (route) => route.abort())
  await page.goto('/console/operator')
  await page.getByText('The server cannot be reached').waitFor()
  await picture(page, 'overview-away')
  await page.unroute('**/v1/admin/**')
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.getByRole('heading', { name: 'What needs you' }).waitFor()
  await page.goto('/console/operator/holds/999999')
  await page.getByText('There is no hold 999999').waitFor()
  await page.getByText(/^req_/).waitFor()
  visitor.complaints.length = 0
})

test('details have no accessibility problem and no sideways scrolling in dark at 320 px', async () => {
  const small = await world.visitor({ colorScheme: 'dark', width: 320 })
  const tab = await small.tab()
  await small.signIn(tab)
  await tab.route('**/v1/admin/reviews/x402%3A1', (route) =>
    route.fulfill({ json: { data: outOfReach, request_id: 'req_1' } }),
  )
  for (const [to, ready, name] of [
    ['/console/operator', 'What needs you', 'overview-320'],
    ['/console/operator/reviews/x402:1', 'The chain cannot be read now', 'review-320'],
  ] as const) {
    await tab.goto(to)
    await tab.getByText(ready).first().waitFor()
    expect(await accessibilityProblems(tab)).toEqual([])
    const wider = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'
    expect(await tab.evaluate<number>(wider)).toBe(0)
    await picture(tab, name)
  }
  expect(small.complaints).toEqual([])
  await small.context.close()
})

/** A payment whose chain is away: what the server answers then is tested where it is made. */
const outOfReach = {
  id: 'x402:1',
  kind: 'order',
  reason: 'reorged_after_credit',
  reason_in_words: 'Credits were given for it, and then the chain replaced the block it was in.',
  opened_at: '2026-11-20T12:00:00.000Z',
  age_seconds: 3600,
  network_name: 'Base',
  status: 'review_required',
  waits: true,
  account: { id: 2, label: null },
  expected: {
    amount: '250',
    symbol: 'USDC',
    from: `0x${'a1'.repeat(20)}`,
    to: `0x${'b2'.repeat(20)}`,
    credit_micro: 250_000_000,
    made_at: '2026-11-20T11:00:00.000Z',
    expires_at: '2026-11-20T11:30:00.000Z',
  },
  shown: null,
  tx_hash: `0x${'c3'.repeat(32)}`,
  explorer_tx_url: '',
  worth_micro: 250_000_000,
  granted: true,
  held_micro: 120_000_000,
  chain: { healthy: false, detail: 'no node answers', as_of: '2026-11-20T12:30:00.000Z' },
  actions: [
    { action: 'credit', possible: false, why_not: 'The chain cannot be read now: no node answers.' },
    { action: 'dismiss', possible: true, why_not: null },
  ],
  takes_two: true,
  proposal: {
    action: 'dismiss',
    credit_micro: 0,
    by: 'account:7',
    at: '2026-11-20T12:40:00.000Z',
    until: '2026-11-21T12:40:00.000Z',
    reason: 'it never came back',
  },
  events: [{ at: '2026-11-20T12:00:00.000Z', event: 'undo', status: 'review_required', by: 'watcher' }],
}
