import type { Page, Route } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { newAgent, newOwner, type Person } from './people.ts'
import { seed } from './seed.ts'
import { fileName, goTo, moveTo, pages, problemsInEveryLook, problemsInTurn, settled } from './walk.ts'
import { type BrowserWorld, startBrowserWorld, type Visitor } from './world.ts'

let world: BrowserWorld
let owner: Person
beforeAll(async () => {
  world = await startBrowserWorld()
  const [privateKey = '', agentKey = ''] = world.development.payers.slice(2).map((payer) => payer.private_key)
  owner = await newOwner(world, { name: 'full', credits: 1000, admin: true, privateKey })
  await seed(world, { owner, agent: await newAgent(world, owner, agentKey), privateKey })
})
afterEach(() => world.leave())
afterAll(() => world?.stop())

/** Somebody in the console whose API, but for sign-in, answers as `answer` does. */
async function visit(
  email: string,
  answer?: (route: Route) => Promise<void> | void,
): Promise<{ visitor: Visitor; page: Page }> {
  const visitor = await world.visitor()
  const page = await visitor.tab()
  if (answer) await page.route(/\/v1\/(?!auth\/)/, answer)
  await visitor.signIn(page, email)
  return { visitor, page }
}

const refusing = (status: number, code: string, message: string) => (route: Route) =>
  route.fulfill({ status, json: { error: code, code, message, type: 'api_error', request_id: 'req_0123456789' } })

/** What the browser itself says of an answer that is no success. */
const besidesRefusals = (complaints: readonly string[]): string[] =>
  complaints.filter((complaint) => !complaint.startsWith('console error: Failed to load resource'))

test('every page with rows has no accessibility problem, no error and no sideways scrolling, in any look', async () => {
  const { visitor, page } = await visit(owner.email)
  const problems: string[] = []
  for (const item of pages) {
    await goTo(page, item)
    await settled(page)
    problems.push(...(await problemsInEveryLook(page, fileName(item))))
  }
  expect(problems).toEqual([])
  expect(visitor.complaints).toEqual([])
})

test('every page of a new account is as sound, and shows no heading of a table without rows', async () => {
  await newOwner(world, { name: 'empty', admin: true, withKey: false })
  const { visitor, page } = await visit('empty@example.com')
  const problems: string[] = []
  for (const [turn, item] of pages.entries()) {
    await goTo(page, item)
    await settled(page)
    // a page that has nothing to be empty of looks as it always does
    const differs = (await page.locator('#main .empty, #main .timeline').count()) > 0
    problems.push(...(await problemsInTurn(turn, page, `${fileName(item)}-empty`, differs)))
    const bare = await page.evaluate<number>("document.querySelectorAll('tbody:not(:has(tr))').length")
    if (bare > 0) problems.push(`${item.to} has a table without rows`)
  }
  expect(problems).toEqual([])
  expect(visitor.complaints).toEqual([])
})

test('a server that breaks: every page says so in a sentence, with the request id and a way to try again', async () => {
  const answer = refusing(500, 'internal_error', 'Something broke here. It was recorded.')
  const { visitor, page } = await visit(owner.email, answer)
  const problems: string[] = []
  for (const [turn, item] of pages.entries()) {
    await goTo(page, item)
    await settled(page)
    const card = page.locator('#main').getByRole('alert').filter({ hasText: 'Something broke here.' }).first()
    await card.getByText('req_0123456789').waitFor()
    await card.getByRole('button', { name: 'Try again' }).waitFor()
    problems.push(...(await problemsInTurn(turn + 1, page, `${fileName(item)}-error`, item.to === '/console')))
  }
  expect(problems).toEqual([])
  expect(besidesRefusals(visitor.complaints)).toEqual([])
  await page.unroute(/\/v1\/(?!auth\/)/)
  await page.getByRole('button', { name: 'Try again' }).first().click()
  await page.getByText(owner.email).first().waitFor()
})

test('a card of the home page whose question fails says so, beside the balance that is known', async () => {
  const visitor = await world.visitor()
  const page = await visitor.tab()
  await page.route(/\/v1\/usage\?/, refusing(500, 'internal_error', 'Something broke here. It was recorded.'))
  await visitor.signIn(page, owner.email)
  await page.getByText('Something broke here.').waitFor()
  expect(await page.locator('#main').getByRole('alert').count()).toBe(1)
  expect(await page.getByText('Available', { exact: true }).count()).toBeGreaterThan(0)
  await page.unroute(/\/v1\/usage\?/)
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.getByRole('heading', { name: 'The last 7 days' }).waitFor()
})

test('while answers are on their way every page has lines in their place; without a network it says why they do not come', async () => {
  const held: Route[] = []
  const { visitor, page } = await visit(owner.email, (route) => void held.push(route))
  const problems: string[] = []
  for (const item of pages) {
    await goTo(page, item)
    await page.locator('#main .skeleton').first().waitFor()
    if (item.to === '/console') problems.push(...(await problemsInEveryLook(page, 'loading')))
  }
  await visitor.context.setOffline(true)
  await Promise.all(held.splice(0).map((route) => route.abort().catch(() => undefined)))
  await page.getByText('You are offline').waitFor()
  for (const [turn, item] of pages.entries()) {
    await goTo(page, item)
    await page.locator('#main').getByText('Not loaded yet').first().waitFor()
    problems.push(...(await problemsInTurn(turn, page, `${fileName(item)}-offline`, item.to === '/console')))
  }
  await page.unroute(/\/v1\/(?!auth\/)/)
  await visitor.context.setOffline(false)
  await page.getByText(owner.email).first().waitFor()
  expect(await page.getByText('You are offline').count()).toBe(0)
  expect(problems).toEqual([])
  expect(besidesRefusals(visitor.complaints)).toEqual([])
})

test('a session that ended: every page asks to sign in, and the sign-in comes back to it, filters and all', async () => {
  const { visitor, page } = await visit(owner.email)
  await page.route('**/v1/auth/refresh', refusing(401, 'refresh_token_reused', 'Sign in again.'))
  await page.addInitScript("localStorage.setItem('farebox:has-session', 'yes')")
  const wanted = pages.map(({ to }) => `${to}?filter=${to.length}`)
  await page.goto('/console')
  const door = page.getByRole('link', { name: /^Continue with/ })
  await door.waitFor()
  for (const address of wanted) {
    await moveTo(page, address)
    await expect
      .poll(async () => new URL((await door.getAttribute('href')) ?? '', page.url()).searchParams.get('return_to'), {
        timeout: 30_000,
      })
      .toBe(address)
  }
  await page.getByText('Your session was continued elsewhere').waitFor()
  expect(await problemsInEveryLook(page, 'signed-out')).toEqual([])
  await page.unroute('**/v1/auth/refresh')
  await page.goto('/console/requests?status=failed')
  await page.locator('#main').getByRole('heading', { name: 'Requests' }).waitFor()
  expect(await page.getByLabel('State').inputValue()).toBe('failed')
  expect(besidesRefusals(visitor.complaints)).toEqual([])
})

test('a banned account: every page explains it, names who can help, and lets somebody else sign in', async () => {
  const { visitor, page } = await visit(owner.email)
  await page.route(/\/v1\/(?!auth\/)/, refusing(403, 'account_banned', 'This account is banned. Contact the operator.'))
  await page.route('**/v1/auth/oidc/providers', (route) =>
    route.fulfill({
      json: {
        data: [{ name: 'dev', label: 'Development' }],
        invitation_required: false,
        support_contact: 'help@example.com',
      },
    }),
  )
  // whatever asks first meets the refusal, the page or the balance above it
  await moveTo(page, '/console/sessions')
  await page.getByRole('heading', { name: 'This account is banned' }).waitFor()
  for (const { to } of pages) {
    await moveTo(page, to)
    await page.getByRole('heading', { name: 'This account is banned' }).waitFor()
    await page.getByText('req_0123456789').waitFor()
    expect(await page.getByRole('navigation').count()).toBe(0)
  }
  const help = await page.getByRole('link', { name: 'help@example.com' }).getAttribute('href')
  expect(help).toContain('mailto:help@example.com?subject=')
  expect(await problemsInEveryLook(page, 'banned')).toEqual([])
  await page.getByRole('button', { name: 'Sign in as somebody else' }).click()
  await page.getByRole('heading', { name: 'Sign in to Farebox' }).waitFor()
  expect(besidesRefusals(visitor.complaints)).toEqual([])
})

test('a page whose server is away says so, keeps what it showed, and recovers by itself', async () => {
  const { page } = await visit(owner.email)
  await page.route('**/v1/**', (route) => route.abort())
  await page.getByRole('link', { name: 'Sessions' }).click()
  await page.getByText('The server cannot be reached').waitFor()
  await page.unroute('**/v1/**')
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.getByText('This one').waitFor()
})

test('a page that was never opened opens without a network, too', async () => {
  const { visitor, page } = await visit(owner.email)
  const asked = () => new Set(visitor.requests.filter((request) => request.includes('/assets/')))
  await expect
    .poll(
      async () => {
        const arrived = await page.evaluate<number>(
          "new Set(performance.getEntriesByType('resource').map(({ name }) => name).filter((name) => name.includes('/assets/'))).size",
        )
        return [...asked()].some((request) => request.includes('/assets/webhooks-')) && arrived >= asked().size
      },
      { timeout: 60_000, interval: 200 },
    )
    .toBe(true)
  await visitor.context.setOffline(true)
  await page.getByRole('link', { name: 'Webhooks' }).click()
  await page.getByRole('heading', { name: 'Webhooks', level: 1 }).waitFor()
  await page.getByText('Not loaded yet').first().waitFor()
})

test('an address that does not exist says so and shows the way back', async () => {
  const visitor = await world.visitor()
  const page = await visitor.tab()
  await page.goto('/console/nothing')
  await page.getByText('There is no such page').waitFor()
  await page.getByRole('link', { name: 'To the home page' }).waitFor()
})
