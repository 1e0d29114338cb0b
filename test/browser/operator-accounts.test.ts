import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { installWallet } from './wallet.ts'
import { accessibilityProblems, type BrowserWorld, startBrowserWorld, type Visitor } from './world.ts'

vi.setConfig({ testTimeout: 120_000 })

let world: BrowserWorld
let visitor: Visitor
let page: Page
beforeAll(async () => {
  world = await startBrowserWorld()
  visitor = await world.visitor()
  page = await visitor.tab()
  await visitor.signIn(page)
}, 120_000)
afterAll(() => world?.stop())

const agentPath = () => `/console/operator/accounts/${world.development.agent.account_id}`
const heading = (name: string) => page.getByRole('heading', { name, level: 1 }).waitFor()

async function picture(of: Page, name: string): Promise<void> {
  const folder = process.env.FAREBOX_SCREENSHOTS
  if (folder) await of.screenshot({ path: `${folder}/operator-${name}.png`, fullPage: true })
}

test('an admin finds an account by what is known of it, and the search is in the address', async () => {
  await page.goto('/console/operator/accounts')
  const { email, account_id } = world.development.owner
  await page.getByLabel('Id, wallet, e-mail or label').fill(email.slice(0, 4))
  await page.getByRole('button', { name: 'Search' }).click()
  await page.getByRole('cell', { name: 'Owner Admin' }).waitFor()
  expect(new URL(page.url()).searchParams.get('query')).toBe(email.slice(0, 4))
  await picture(page, 'accounts')
  await page.getByLabel('Id, wallet, e-mail or label').fill('nobody at all')
  await page.keyboard.press('Enter')
  await page.getByText('No account matches').waitFor()
  await page.goBack()
  await page.goto(`/console/operator/accounts?query=${account_id}&role=admin`)
  await page.getByRole('link', { name: 'Development owner' }).click()
  await heading(`Account ${account_id}`)
  await page.getByText('This is your own account').waitFor()
  expect(await page.getByRole('button', { name: 'Ban', exact: true }).isDisabled()).toBe(true)
  await picture(page, 'own-account')
  expect(visitor.complaints).toEqual([])
})

test('Credits are given in two steps, once however often the button is pressed, and the page says what the balance becomes', async () => {
  await page.goto(agentPath())
  await page.getByRole('button', { name: 'Give Credits' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Credits', { exact: true }).fill('0')
  await dialog.getByText('above 0').waitFor()
  await dialog.getByLabel('Credits', { exact: true }).fill('2500.5')
  await dialog.getByLabel('Reason').fill('for the broken picture')
  await picture(page, 'grant')
  await dialog.getByRole('button', { name: 'Look it over' }).click()
  await dialog.getByText('Balance then').waitFor()
  await picture(page, 'grant-look')
  await dialog.getByRole('button', { name: 'Give 2,500.5 Credits' }).dblclick()
  await page.getByRole('status').getByText('2,500.5 Credits were given').waitFor()
  await page.getByRole('table', { name: 'Grants' }).getByText('for the broken picture').waitFor()
  expect(await page.getByText('for the broken picture').count()).toBe(1)
  const { data } = (await world.call('agent', '/v1/credits/ledger')) as {
    data: ReadonlyArray<{ kind: string; amount_micro: number }>
  }
  expect(data.filter(({ amount_micro }) => amount_micro === 2_500_500_000)).toHaveLength(1)
  await picture(page, 'account')
  expect(visitor.complaints).toEqual([])
})

test('a grant whose answer was lost is given once: the same button asks again, and what was changed meanwhile is not given', async () => {
  await page.goto(agentPath())
  await page.getByRole('button', { name: 'Give Credits' }).click()
  const dialog = page.getByRole('dialog')
  const fill = async (credits: string) => {
    await dialog.getByLabel('Credits', { exact: true }).fill(credits)
    await dialog.getByLabel('Reason').fill('an answer lost')
    await dialog.getByRole('button', { name: 'Look it over' }).click()
  }
  await fill('3')
  await page.route('**/grants', async (route) => {
    if (route.request().method() === 'GET') return route.continue()
    await route.fetch()
    await route.abort()
  })
  await dialog.getByRole('button', { name: 'Give 3 Credits' }).click()
  await dialog.getByText('The server cannot be reached').waitFor()
  await page.unroute('**/grants')
  await dialog.getByRole('button', { name: 'Back' }).click()
  await fill('4')
  await dialog.getByRole('button', { name: 'Give 4 Credits' }).click()
  await dialog.getByText('Your first attempt had arrived').waitFor()
  await dialog.getByRole('button', { name: 'Back' }).click()
  await fill('3')
  await dialog.getByRole('button', { name: 'Give 3 Credits' }).click()
  await page.getByRole('status').getByText('3 Credits were given').waitFor()
  await page.getByText('an answer lost').waitFor()
  expect(await page.getByText('an answer lost').count()).toBe(1)
  visitor.complaints.length = 0
})

test('a ban asks for a reason, says what it means, is announced, lifted, and both are in a log that is whole', async () => {
  const { agent } = world.development
  await page.goto(agentPath())
  await page.getByRole('button', { name: 'Ban', exact: true }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('Everything that the account asks for is refused').waitFor()
  expect(await dialog.getByRole('button', { name: 'Ban' }).isDisabled()).toBe(true)
  await dialog.getByLabel('Reason').fill('spam')
  expect(await accessibilityProblems(page)).toEqual([])
  await picture(page, 'ban')
  await page.keyboard.press('Enter')
  await page.getByRole('status').getByText(`Account ${agent.account_id} is banned.`).waitFor()
  await page.getByRole('button', { name: 'Lift the ban' }).click()
  await dialog.getByLabel('Reason').fill('a mistake')
  await dialog.getByRole('button', { name: 'Lift the ban' }).click()
  await page.getByRole('status').getByText('is active again').waitFor()
  await page.getByRole('main').getByRole('link', { name: 'Audit log' }).click()
  await heading('Audit log')
  await page.getByRole('cell', { name: 'a mistake' }).first().waitFor()
  expect(new URL(page.url()).searchParams.get('target')).toBe(`account:${agent.account_id}`)
  await page.getByLabel('Action').selectOption('ban.account')
  await page.getByRole('cell', { name: 'spam' }).waitFor()
  await page.getByRole('cell', { name: 'a mistake' }).waitFor({ state: 'detached' })
  await page.getByRole('button', { name: /^Show entry/ }).click()
  await dialog.getByText('"status": "banned"').waitFor()
  expect(await accessibilityProblems(page)).toEqual([])
  await picture(page, 'entry')
  await dialog.getByRole('button', { name: 'Close' }).click()
  await page.getByRole('button', { name: 'Check the whole log' }).click()
  await page.getByText('The log is whole').waitFor()
  await picture(page, 'audit-log')
  expect(visitor.complaints).toEqual([])
})

test('an invitation’s code is shown once, its end asks for a reason', async () => {
  await page.goto('/console/operator/invitations')
  await page.getByRole('button', { name: 'New invitation' }).click()
  const dialog = page.getByRole('dialog').or(page.getByRole('alertdialog'))
  await dialog.getByLabel('For').fill('Ada')
  await dialog.getByRole('button', { name: 'Make the invitation' }).click()
  await dialog.getByText(/^inv_[0-9a-z]{26}$/).waitFor()
  expect(await accessibilityProblems(page)).toEqual([])
  await picture(page, 'invitation')
  await dialog.getByLabel('I have stored it').check()
  await dialog.getByRole('button', { name: 'Close' }).click()
  await page.getByRole('button', { name: /^End invitation/ }).click()
  await dialog.getByLabel('Reason').fill('Ada came in already')
  await dialog.getByRole('button', { name: 'End the invitation' }).click()
  await page.getByRole('status').getByText('admits nobody any more').waitFor()
  await page.getByRole('cell', { name: 'Ended' }).waitFor()
  await picture(page, 'invitations')
  expect(visitor.complaints).toEqual([])
})

test('a refund that waits is approved with a reason, and leaves the list', async () => {
  const { account_id } = world.development.agent
  const refund = {
    id: 3,
    status: 'review_required',
    call_id: 41,
    call_request_id: 'req_01',
    account_id,
    amount_micro: 700_000,
    reason: 'the picture never came',
    note: 'brought over from the old system',
    created_at: '2026-11-01T12:00:00Z',
    decided_by: null,
    decision_reason: null,
    decided_at: null,
  }
  // no refund comes into review but by moving an old system's calls over: the server's part is tested without a browser
  let decided: unknown
  await page.route('**/v1/admin/refunds**', (route) => {
    if (route.request().method() === 'POST') decided = route.request().postDataJSON()
    const approved = {
      ...refund,
      status: 'completed',
      decided_by: 'account:1',
      decision_reason: 'seen',
      decided_at: refund.created_at,
    }
    const asksDecided = route.request().url().includes('state=decided')
    const data = asksDecided ? [approved] : decided ? [] : [refund]
    return route.fulfill({
      json: route.request().method() === 'POST' ? { data: approved, changed: true } : { data, next_cursor: 0 },
    })
  })
  await page.goto('/console/operator/refunds')
  await page.getByRole('button', { name: 'Approve refund 3' }).waitFor()
  expect(await accessibilityProblems(page)).toEqual([])
  await picture(page, 'refunds')
  await page.getByRole('button', { name: 'Approve refund 3' }).click()
  await page.getByRole('dialog').getByLabel('Reason').fill('seen in the old books')
  await page.getByRole('dialog').getByRole('button', { name: 'Give 0.7 Credits back' }).click()
  await page.getByRole('status').getByText('Refund 3 is approved').waitFor()
  await page.getByText('No refund waits').waitFor()
  expect(decided).toEqual({ reason: 'seen in the old books' })
  await page.getByLabel('Show').selectOption('decided')
  await page.getByText('Approved', { exact: true }).waitFor()
  expect(await accessibilityProblems(page)).toEqual([])
  await picture(page, 'refunds-decided')
  await page.unroute('**/v1/admin/refunds**')
  expect(visitor.complaints).toEqual([])
})

test('what the server refuses, and a server that is away, are said with a way on', async () => {
  await page.goto('/console/operator/accounts/999999')
  await page.getByText('There is no such account here.').waitFor()
  await page.getByText(/^req_/).waitFor()
  await page.route('**/v1/admin/**', (route) => route.abort())
  await page.goto('/console/operator/refunds')
  await page.getByText('The server cannot be reached').waitFor()
  await page.unroute('**/v1/admin/**')
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.getByText('No refund waits').waitFor()
  visitor.complaints.length = 0
})

test('an account’s page has no accessibility problem and no sideways scrolling in dark at 320 px, with a dialog too', async () => {
  const small = await world.visitor({ colorScheme: 'dark', width: 320 })
  const tab = await small.tab()
  await small.signIn(tab)
  await tab.goto(agentPath())
  await tab.getByRole('table', { name: 'Grants' }).waitFor()
  expect(await accessibilityProblems(tab)).toEqual([])
  expect(
    await tab.evaluate<number>('document.documentElement.scrollWidth - document.documentElement.clientWidth'),
  ).toBe(0)
  await picture(tab, 'account-320')
  await tab.getByRole('button', { name: 'Give Credits' }).click()
  await tab.getByRole('dialog').getByLabel('Credits', { exact: true }).fill('1')
  expect(await accessibilityProblems(tab)).toEqual([])
  await picture(tab, 'grant-320')
  expect(small.complaints).toEqual([])
  await small.context.close()
})

test('whoever is no admin is shown no way there, and a page that explains; the server is not even asked', async () => {
  const other = await world.visitor()
  const tab = await other.tab()
  const { agent, chain } = world.development
  await installWallet(tab, { privateKey: agent.private_key, rpcUrl: chain.rpc_url, chainId: chain.chain_id })
  await tab.goto('/console/operator/accounts')
  await tab.getByRole('button', { name: 'Test wallet' }).click()
  await tab.getByRole('button', { name: 'Sign in Test wallet' }).click()
  await tab.getByText('This page is for admins of this server').waitFor()
  await tab.getByText('An Agent is never an admin').waitFor()
  expect(await tab.getByRole('link', { name: 'Audit log' }).count()).toBe(0)
  expect(await accessibilityProblems(tab)).toEqual([])
  await picture(tab, 'forbidden')
  expect(other.requests.filter((line) => line.includes('/v1/admin'))).toEqual([])
  expect(other.complaints).toEqual([])
})
