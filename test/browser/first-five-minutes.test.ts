import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { installWallet } from './wallet.ts'
import { accessibilityProblems, type BrowserWorld, startBrowserWorld, type Visitor } from './world.ts'

// a browser, a server and a chain share what cores there are
vi.setConfig({ testTimeout: 180_000 })

const documents = new URL('../../docs/', import.meta.url)
/** `npm run pictures` sets it: then the pictures of the documents are taken again. */
const takesPictures = process.env.FAREBOX_PICTURES !== undefined

let world: BrowserWorld
beforeAll(async () => {
  world = await startBrowserWorld()
}, 240_000)
afterEach(() => world.leave())
afterAll(() => world?.stop())

/** Takes a picture of the page as it is, for `docs/pictures/<name>.png`. */
async function picture(page: Page, name: string): Promise<void> {
  if (!takesPictures) return
  await page.locator('.skeleton').first().waitFor({ state: 'detached' })
  await page.waitForLoadState('networkidle')
  await page.mouse.move(0, 0)
  await page.screenshot({ path: join(fileURLToPath(documents), 'pictures', `${name}.png`), animations: 'disabled' })
}

async function openedBy(page: Page, link: string): Promise<void> {
  await page.getByRole('navigation').getByRole('link', { name: link, exact: true }).click()
}

/** What an account has after some days of work: calls of several models, by the owner and by its Agent. */
async function someCalls(): Promise<void> {
  const questions = [
    'hello',
    'Name three lighthouses.',
    'Summarise the minutes of the meeting.',
    'Which one is the oldest?',
  ]
  for (const content of questions)
    for (const person of ['owner', 'agent'] as const)
      await world.call(person, '/v1/chat/completions', { model: 'demo-chat', messages: [{ role: 'user', content }] })
  for (const prompt of ['a lighthouse', 'a harbour at night'])
    await world.call('owner', '/v1/images/generations', { model: 'demo-image', prompt, response_format: 'b64_json' })
}

async function buysCredits(page: Page): Promise<void> {
  await openedBy(page, 'Buy Credits')
  await page.getByLabel('Amount in').fill('25')
  await page.getByRole('button', { name: 'Make the order' }).click()
  await page.getByRole('heading', { name: 'Ready to be paid' }).waitFor()
  await picture(page, 'order')
  await page.getByRole('button', { name: 'Connect Test wallet' }).click()
  await page.getByRole('button', { name: /^Pay / }).and(page.locator(':enabled')).click()
  await page.getByRole('heading', { name: 'Paid. Your Credits are there' }).waitFor()
  await picture(page, 'order-paid')
}

async function makesKey(page: Page): Promise<void> {
  await openedBy(page, 'API keys')
  await page.getByRole('button', { name: 'New key' }).click()
  await page.getByLabel('Name').fill('web shop')
  await page.getByLabel('Credits a day, at most').fill('5')
  await page.getByRole('button', { name: 'Create key' }).click()
  await page.getByLabel('I have stored it').check()
  await page.getByRole('button', { name: 'Close' }).click()
  await page.getByText('web shop').first().waitFor()
  await picture(page, 'keys')
}

async function linksAgent(page: Page): Promise<void> {
  await openedBy(page, 'Agents')
  await page.getByRole('button', { name: 'Link an Agent' }).click()
  await page.getByLabel('Its wallet address').fill(privateKeyToAddress(generatePrivateKey()))
  await page.getByLabel('Label').fill('researcher')
  await page.getByLabel('Credits a call, at most').fill('0.5')
  await page.getByLabel('Credits a day, at most').fill('5')
  await page.getByRole('button', { name: 'Link', exact: true }).click()
  await page.getByRole('heading', { name: 'researcher' }).waitFor()
  await picture(page, 'agents')
}

/** The owner's page in a browser, with a wallet. */
async function atHome(visitor: Visitor): Promise<Page> {
  const { owner, chain } = world.development
  const page = await visitor.tab()
  const where = { rpcUrl: chain.rpc_url, chainId: chain.chain_id }
  await installWallet(page, { privateKey: owner.private_key, ...where })
  await visitor.signIn(page)
  return page
}

test('the first five minutes of an owner can be clicked as their page says', async () => {
  await someCalls()
  const visitor = await world.visitor({ height: 832 })
  const page = await atHome(visitor)
  await picture(page, 'home')
  await buysCredits(page)
  await makesKey(page)
  await linksAgent(page)
  for (const [link, name] of [
    ['Usage', 'usage'],
    ['Statement', 'statement'],
    ['Requests', 'requests'],
  ] as const) {
    await openedBy(page, link)
    await page.getByRole('heading', { level: 1, name: link }).waitFor()
    await picture(page, name)
  }
  expect(visitor.complaints).toEqual([])
})

test('the page names what is clicked here, and every picture is there, small, and shown', async () => {
  const text = await readFile(new URL('first-five-minutes-owner.md', documents), 'utf8')
  const named = [...text.matchAll(/\*\*([^*]+)\*\*/g)].map(([, label]) => label)
  const clicked = ['Buy Credits', 'Make the order', 'API keys', 'New key', 'Create key', 'Agents', 'Link an Agent']
  expect(named).toEqual(expect.arrayContaining([...clicked, 'Usage', 'Statement', 'Requests']))
  const shown = text + (await readFile(new URL('../README.md', documents), 'utf8'))
  const pictures = await readdir(new URL('pictures/', documents))
  const names = pictures.filter((name) => name.endsWith('.png'))
  expect(names.filter((name) => !shown.includes(`pictures/${name})`))).toEqual([])
  for (const name of names)
    expect((await readFile(new URL(`pictures/${name}`, documents))).length, name).toBeLessThan(120_000)
})

test('the dark pictures', async () => {
  if (!takesPictures) return
  const visitor = await world.visitor({ colorScheme: 'dark', height: 832 })
  const page = await atHome(visitor)
  await openedBy(page, 'Usage')
  await picture(page, 'usage-dark')
})

test.each(['light', 'dark'] as const)(
  'the guides and the pages of errors have no accessibility problem, ask nobody else and do not scroll sideways, in %s',
  async (colorScheme) => {
    const visitor = await world.visitor({ colorScheme, width: colorScheme === 'dark' ? 320 : 1280 })
    const page = await visitor.tab()
    const problems: string[] = []
    for (const path of [
      '/docs/guides',
      '/docs/x402',
      '/docs/first-five-minutes-owner',
      '/errors',
      '/errors/unauthorized',
    ]) {
      await page.goto(path)
      problems.push(...(await accessibilityProblems(page)).map((problem) => `${path}: ${problem}`))
      const overflow = await page.evaluate<number>(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      )
      if (overflow > 0) problems.push(`${path} scrolls sideways`)
    }
    expect(problems).toEqual([])
    expect(visitor.complaints).toEqual([])
  },
)

test('the page of the API shows every operation under a tag that says what it is for, and tries one', async () => {
  const document = (await (await fetch(`${world.development.base_url}/openapi.json`)).json()) as {
    tags: ReadonlyArray<{ name: string; description?: string }>
    paths: Record<string, Record<string, { tags?: readonly string[] }>>
    webhooks: Record<string, unknown>
  }
  expect(document.tags.filter(({ description }) => !description)).toEqual([])
  const visitor = await world.visitor()
  const page = await visitor.tab()
  await page.goto('/docs')
  const tags = page.locator('.opblock-tag-section')
  await tags.first().waitFor()
  // what is left is in the build of Swagger UI
  const inSwagger = /^(heading-order|nested-interactive|landmark-\S+): /
  expect((await accessibilityProblems(page)).filter((problem) => !inSwagger.test(problem))).toEqual([])
  expect(await tags.count()).toBe(document.tags.length)
  const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods))
  const tagNamed = (name: string) => page.locator(`.opblock-tag[data-tag="${name}"]`)
  // one tag at a time, as people read it: Swagger UI takes minutes over all of them at once
  for (const { name } of document.tags) {
    await tagNamed(name).click()
    const shown = tags.filter({ has: tagNamed(name) }).locator('.opblock')
    const wanted = operations.filter(({ tags = [] }) => tags.includes(name)).length
    await expect.poll(() => shown.count(), { timeout: 60_000 }).toBe(wanted)
    await tagNamed(name).click()
  }
  // what the server sends by itself has a place of its own
  expect(await page.locator('.webhooks .opblock').count()).toBe(Object.keys(document.webhooks).length)
  await tagNamed('Models').click()
  const models = page.locator('#operations-Models-getModels')
  await models.locator('.opblock-summary').click()
  await models.getByRole('button', { name: 'Execute' }).click()
  await models.locator('.live-responses-table').getByText('demo-chat').first().waitFor()
  expect(visitor.complaints).toEqual([])
})
