import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { navigation } from '../../console/src/ui/navigation.ts'
import { newAgent, newOwner, type Person } from './people.ts'
import { seed } from './seed.ts'
import { accessibilityProblems, type BrowserWorld, startBrowserWorld } from './world.ts'

let world: BrowserWorld
let owner: Person
beforeAll(async () => {
  world = await startBrowserWorld()
  const [privateKey = '', agentKey = ''] = world.development.payers.slice(2).map((payer) => payer.private_key)
  owner = await newOwner(world, { name: 'full', credits: 1000, privateKey })
  await seed(world, { owner, agent: await newAgent(world, owner, agentKey), privateKey })
})
afterAll(() => world?.stop())

const addresses = navigation.flatMap(({ items }) => items)

/** The page shows what it has to show, or says that there is nothing, and no line is still on its way. */
async function settled(page: Page): Promise<void> {
  await page.getByRole('heading', { level: 1 }).waitFor()
  await page.locator('.skeleton').first().waitFor({ state: 'detached' })
}

/** Wider than the window: somebody has to scroll sideways to read. */
const overflows = (page: Page) =>
  page.evaluate<number>('document.documentElement.scrollWidth - document.documentElement.clientWidth')

test.each([
  { colorScheme: 'light', width: 1280 },
  { colorScheme: 'dark', width: 320 },
] as const)(
  'every page has no accessibility problem, no error and no sideways scrolling, in $colorScheme at $width px',
  async (look) => {
    const visitor = await world.visitor(look)
    const page = await visitor.tab()
    await visitor.signIn(page, owner.email)
    const folder = process.env.FAREBOX_SCREENSHOTS
    const problems: string[] = []
    for (const { to, label } of addresses) {
      await page.goto(to)
      await settled(page)
      if (folder)
        await page.screenshot({
          path: `${folder}/${label.toLowerCase().replaceAll(' ', '-')}-${look.colorScheme}.png`,
          fullPage: true,
        })
      problems.push(...(await accessibilityProblems(page)).map((problem) => `${to}: ${problem}`))
      if ((await overflows(page)) > 0) problems.push(`${to} scrolls sideways`)
    }
    expect(problems).toEqual([])
    expect(visitor.complaints).toEqual([])
  },
)

test('a page whose server is away says so, keeps what it showed, and recovers by itself', async () => {
  const visitor = await world.visitor()
  const page = await visitor.tab()
  await visitor.signIn(page, owner.email)
  await page.goto('/console/keys')
  await settled(page)
  await page.route('**/v1/**', (route) => route.abort())
  await page.getByRole('link', { name: 'Sessions' }).click()
  await page.getByText('The server cannot be reached').waitFor()
  await page.unroute('**/v1/**')
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.getByText('This one').waitFor()
})

test('an address that does not exist says so and shows the way back', async () => {
  const visitor = await world.visitor()
  const page = await visitor.tab()
  await page.goto('/console/nothing')
  await page.getByText('There is no such page').waitFor()
  await page.getByRole('link', { name: 'To the home page' }).waitFor()
})
