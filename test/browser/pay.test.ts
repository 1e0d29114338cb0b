import pg from 'pg'
import type { Locator, Page } from 'playwright-core'
import { createWalletClient, http, parseAbi } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { newOwner, type Person } from './people.ts'
import { pictureForDocuments } from './pictures.ts'
import { type Behaviour, type BrowserWallet, installWallet } from './wallet.ts'
import { accessibilityProblems, type BrowserWorld, startBrowserWorld, type Visitor } from './world.ts'

let world: BrowserWorld
let owner: Person
let privateKey: string
beforeAll(async () => {
  world = await startBrowserWorld()
  privateKey = world.development.payers[0]?.private_key ?? ''
  owner = await newOwner(world, { name: 'payer', privateKey })
})
afterEach(() => world.leave())
afterAll(() => world?.stop())

const installOn = (page: Page, key: string): Promise<BrowserWallet> => {
  const { rpc_url: rpcUrl, chain_id: chainId } = world.development.chain
  return installWallet(page, { privateKey: key, rpcUrl, chainId })
}

// each order has an amount of its own: a payment without a hash is found by it
let amount = 12
/** The owner with a wallet in the browser, at the page of a new order. */
async function atAnOrder(
  behaviour: Behaviour = 'approve',
): Promise<{ visitor: Visitor; page: Page; wallet: BrowserWallet }> {
  const visitor = await world.visitor()
  const page = await visitor.tab()
  const wallet = await installOn(page, privateKey)
  wallet.behaviour = behaviour
  await visitor.signIn(page, owner.email, '/topup')
  amount += 1
  await page.getByLabel('Amount in').fill(String(amount))
  await page.getByRole('button', { name: 'Make the order' }).click()
  await page.getByRole('heading', { name: 'Ready to be paid' }).waitFor()
  return { visitor, page, wallet }
}

const payButtons = (page: Page) => page.getByRole('button', { name: /^Pay / })
async function pay(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Connect Test wallet' }).click()
  await page.getByRole('button', { name: /^Pay / }).and(page.locator(':enabled')).click()
}
const rejects = (visitor: Visitor) => visitor.requests.filter((request) => /\/reject$/.test(request))

test('a person buys Credits: recipient first, one wallet prompt, one payment, and the balance moves by itself', async () => {
  const { visitor, page, wallet } = await atAnOrder()
  const facts = page.getByRole('region', { name: 'The payment' })
  for (const fact of ['13 USDC', 'Credited to', `Account ${owner.accountId}`])
    expect(await facts.textContent()).toContain(fact)
  expect(wallet.asked).toEqual([])
  expect(await accessibilityProblems(page)).toEqual([])
  await pictureForDocuments(page, 'order-ready')
  await pay(page)
  await page.getByRole('heading', { name: 'Paid. Your Credits are there' }).waitFor()
  await pictureForDocuments(page, 'order-paid')
  expect(wallet.asked.filter((method) => method === 'eth_sendTransaction')).toHaveLength(1)
  expect(await payButtons(page).count()).toBe(0)
  await page
    .getByRole('banner')
    .getByText(/^13 Credits/)
    .waitFor()
  expect(await accessibilityProblems(page)).toEqual([])
  expect(visitor.complaints).toEqual([])
})

test('whoever says no in the wallet is told that nothing was sent, and may try again', async () => {
  const { visitor, page, wallet } = await atAnOrder('reject')
  await pay(page)
  await page.getByText('You declined in the wallet. Nothing was sent.').waitFor()
  expect(rejects(visitor)).toHaveLength(1)
  wallet.behaviour = 'approve'
  await pay(page)
  await page.getByRole('heading', { name: 'Paid. Your Credits are there' }).waitFor()
  expect(visitor.complaints).toEqual([])
})

test.each(['hang', 'fail'] as const)(
  'a wallet that %ss leaves the attempt reserved: no reject, no second Pay button, and a place for the hash',
  async (behaviour) => {
    const { visitor, page } = await atAnOrder(behaviour)
    await pay(page)
    if (behaviour === 'hang') {
      await page.getByRole('heading', { name: 'Confirm in your wallet' }).waitFor()
      await page.reload()
    }
    await page.getByRole('heading', { name: 'A payment is in progress' }).waitFor()
    await page.getByLabel('I have a transaction hash').waitFor()
    await pictureForDocuments(page, 'order-in-progress')
    expect(await payButtons(page).count()).toBe(0)
    expect(rejects(visitor)).toEqual([])
  },
)

test('a tab that is closed right after the wallet sent: another browser sees the order confirmed and credited', async () => {
  const { page, wallet } = await atAnOrder('send-and-hang')
  const address = page.url()
  await pay(page)
  await expect.poll(() => wallet.sent.length, { timeout: 30_000 }).toBe(1)
  await page.close()
  const elsewhere = await world.visitor()
  const other = await elsewhere.tab()
  await elsewhere.signIn(other, owner.email, new URL(address).pathname)
  await other.getByRole('heading', { name: 'Paid. Your Credits are there' }).waitFor()
  expect(elsewhere.complaints).toEqual([])
})

test('a second tab follows the payment of the first: one wallet prompt between them', async () => {
  const { visitor, page, wallet } = await atAnOrder('hang')
  await page.getByRole('button', { name: 'Connect Test wallet' }).click()
  await page.getByRole('button', { name: /^Pay / }).and(page.locator(':enabled')).waitFor()
  const second = await visitor.tab()
  const other = await installOn(second, privateKey)
  await second.goto(page.url())
  await second.getByRole('button', { name: 'Connect Test wallet' }).click()
  await second.getByRole('button', { name: /^Pay / }).and(second.locator(':enabled')).waitFor()
  await Promise.all([payButtons(page).click(), payButtons(second).click()])
  for (const tab of [page, second])
    await tab.getByRole('heading', { name: /Confirm in your wallet|A payment is in progress|Sent|Seen|Paid/ }).waitFor()
  const prompts = [...wallet.asked, ...other.asked].filter((method) => method === 'eth_sendTransaction')
  expect(prompts).toHaveLength(1)
})

test('a wallet on another network or account cannot be asked to pay, and is told what is wrong', async () => {
  const { visitor, page, wallet } = await atAnOrder()
  wallet.chainId = 1
  await page.getByRole('button', { name: 'Connect Test wallet' }).click()
  await page.getByText('The wallet is on another network').waitFor()
  await pictureForDocuments(page, 'order-other-network')
  expect(await payButtons(page).isDisabled()).toBe(true)
  await page.getByRole('button', { name: /^Switch to/ }).click()
  await payButtons(page).and(page.locator(':enabled')).waitFor()
  expect(wallet.chainId).toBe(world.development.chain.chain_id)

  const stranger = await visitor.tab()
  await installOn(stranger, world.development.payers[1]?.private_key ?? '')
  await stranger.goto(page.url())
  await stranger.getByRole('button', { name: 'Connect Test wallet' }).click()
  await stranger.getByText('Another account is selected').waitFor()
  expect(await payButtons(stranger).isDisabled()).toBe(true)
  expect(visitor.complaints).toEqual([])
})

test('a wallet without coin for the fee is told so before anything is reserved, and may pay once it has some', async () => {
  const { visitor, page } = await atAnOrder()
  const purse = await rpc('eth_getBalance', [wallet().address, 'latest'])
  await rpc('anvil_setBalance', [wallet().address, '0x0'])
  try {
    await page.getByRole('button', { name: 'Connect Test wallet' }).click()
    await page.getByText('No coin for the network’s fee').waitFor()
    expect(await payButtons(page).isDisabled()).toBe(true)
    expect(await accessibilityProblems(page)).toEqual([])
  } finally {
    await rpc('anvil_setBalance', [wallet().address, purse])
  }
  await payButtons(page).and(page.locator(':enabled')).waitFor()
  expect(visitor.requests.filter((request) => /attempts$/.test(request))).toEqual([])
  expect(visitor.complaints).toEqual([])
})

test('an order that ended unpaid is extended at the same price by a click, and then paid', async () => {
  const { visitor, page } = await atAnOrder()
  await lapse(page)
  await page.getByRole('button', { name: /30 more minutes/ }).click()
  await page.getByRole('heading', { name: 'Ready to be paid' }).waitFor()
  await pay(page)
  await page.getByRole('heading', { name: 'Paid. Your Credits are there' }).waitFor()
  expect(visitor.complaints).toEqual([])
})

test('the keyboard alone is enough to sign in, to order and to pay', async () => {
  const visitor = await world.visitor()
  const page = await visitor.tab()
  const key = world.development.payers[4]?.private_key ?? ''
  const { email } = await newOwner(world, { name: 'newcomer', privateKey: key })
  await installOn(page, key)
  await page.goto('/topup')
  await press(page, page.getByRole('link', { name: /^Continue with/ }))
  await press(page, page.getByRole('button', { name: email }))
  await tabTo(page, page.getByLabel('Amount in'))
  await page.keyboard.press('Control+A')
  await page.keyboard.type('12.5')
  await press(page, page.getByRole('button', { name: 'Make the order' }))
  await press(page, page.getByRole('button', { name: 'Connect Test wallet' }))
  await press(page, payButtons(page).and(page.locator(':enabled')))
  await page.getByRole('heading', { name: 'Paid. Your Credits are there' }).waitFor()
  expect(visitor.complaints).toEqual([])
})

// the last one: while a payment is looked at, its account pays nothing more
test('an order that ended asks first whether it was sent: a payment that comes then is looked at by the operator, and never asked for twice', async () => {
  const { visitor, page } = await atAnOrder()
  await lapse(page)
  await page.getByText('Already sent it?').waitFor()
  await pictureForDocuments(page, 'order-expired')
  expect(await accessibilityProblems(page)).toEqual([])
  const hash = await payByHand(page)
  await page.getByLabel('I have a transaction hash').fill(hash)
  await page.getByRole('button', { name: 'Look it up' }).click()
  await page.getByRole('heading', { name: 'Under review. Do not pay again' }).waitFor()
  await pictureForDocuments(page, 'order-under-review')
  expect(await payButtons(page).count()).toBe(0)
  expect(await accessibilityProblems(page)).toEqual([])
  expect(visitor.complaints).toEqual([])
})

const wallet = () => privateKeyToAccount(privateKey as `0x${string}`)

async function rpc(method: string, params: readonly unknown[]): Promise<unknown> {
  const response = await fetch(world.development.chain.rpc_url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  return ((await response.json()) as { result: unknown }).result
}

/** Half an hour goes by for this order. */
async function lapse(page: Page): Promise<void> {
  const database = new pg.Client({ connectionString: world.development.database_url })
  await database.connect()
  const id = new URL(page.url()).pathname.split('/').at(-1)
  await database.query(
    `update orders set created_at = created_at - interval '31 minutes', expires_at = expires_at - interval '31 minutes' where id = $1`,
    [id],
  )
  await database.end()
  await page.getByRole('heading', { name: 'Not paid in time' }).waitFor()
}

/** What the order's wallet sends by itself, without this page; gives the hash. */
async function payByHand(page: Page): Promise<string> {
  const titleOf = (name: string) =>
    page
      .getByRole('definition')
      .filter({ has: page.getByRole('button', { name }) })
      .locator('code')
      .getAttribute('title')
  const [token, recipient] = await Promise.all([titleOf('Copy token address'), titleOf('Copy recipient address')])
  const client = createWalletClient({ account: wallet(), transport: http(world.development.chain.rpc_url) })
  return client.writeContract({
    address: token as `0x${string}`,
    abi: parseAbi(['function transfer(address to, uint256 amount) returns (bool)']),
    functionName: 'transfer',
    args: [recipient as `0x${string}`, BigInt(amount) * 1_000_000n],
    chain: null,
  })
}

/** Moves the focus by the Tab key alone. */
async function tabTo(page: Page, target: Locator): Promise<void> {
  await target.waitFor()
  for (let presses = 0; presses < 80; presses++) {
    if (await target.evaluate((element) => element === element.ownerDocument.activeElement)) return
    await page.keyboard.press('Tab')
  }
  throw new Error('the Tab key does not lead there')
}

async function press(page: Page, target: Locator): Promise<void> {
  await tabTo(page, target)
  await page.keyboard.press('Enter')
}
