import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newOwner, type Person } from './people.ts'
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
  for (const fact of ['13 USDC', 'Credited to', `account ${owner.accountId}`])
    expect(await facts.textContent()).toContain(fact)
  expect(wallet.asked).toEqual([])
  expect(await accessibilityProblems(page)).toEqual([])
  await pay(page)
  await page.getByRole('heading', { name: 'Paid. Your Credits are there' }).waitFor()
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
