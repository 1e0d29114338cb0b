import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { installWallet } from './wallet.ts'
import { accessibilityProblems, type BrowserWorld, startBrowserWorld } from './world.ts'

let world: BrowserWorld
beforeAll(async () => {
  world = await startBrowserWorld()
})
afterEach(() => world.leave())
afterAll(() => world?.stop())

test('an owner signs in by one click at the identity provider, and nothing is asked of any other host', async () => {
  const visitor = await world.visitor()
  const page = await visitor.tab()
  await page.goto('/console')
  await page.getByRole('link', { name: /^Continue with/ }).click()
  await page.getByRole('button', { name: world.development.owner.email }).click()
  await page.getByRole('heading', { name: 'Home', level: 1 }).waitFor()
  await page.getByText('Available').first().waitFor()
  expect(page.url()).toBe(`${world.development.base_url}/console`)
  expect(visitor.complaints).toEqual([])
  expect(await page.evaluate(() => JSON.stringify(globalThis.localStorage))).not.toMatch(/ey|fbx/)
})

test('an Agent signs in with its wallet, having seen what it signs', async () => {
  const visitor = await world.visitor()
  const page = await visitor.tab()
  const { agent, chain } = world.development
  const wallet = await installWallet(page, {
    privateKey: agent.private_key,
    rpcUrl: chain.rpc_url,
    chainId: chain.chain_id,
  })
  await page.goto('/console')
  await page.getByRole('button', { name: 'Test wallet' }).click()
  await page.getByText('wants you to sign in with your Ethereum account').waitFor()
  expect(wallet.asked).toEqual(['eth_requestAccounts'])
  await page.getByRole('button', { name: 'Sign in Test wallet' }).click()
  await page.getByRole('heading', { name: 'Home', level: 1 }).waitFor()
  expect(visitor.complaints).toEqual([])
})

test('two tabs that need a new token at once make one refresh, and signing out in one signs out the other', async () => {
  const visitor = await world.visitor()
  const first = await visitor.tab()
  await visitor.signIn(first, 'tabs@example.com')
  await first.close()
  visitor.requests.length = 0
  const tabs = await Promise.all([visitor.tab(), visitor.tab(), visitor.tab()])
  await Promise.all(tabs.map((tab) => tab.goto('/console/keys')))
  await Promise.all(tabs.map((tab) => tab.getByRole('heading', { name: 'API keys' }).waitFor()))
  expect(visitor.requests.filter((request) => request === 'POST /v1/auth/refresh')).toHaveLength(1)
  expect(visitor.complaints).toEqual([])
  await tabs[0]?.getByRole('button', { name: 'Sign out' }).click()
  for (const tab of tabs) await tab.getByRole('heading', { name: 'Sign in to Farebox' }).waitFor()
  // what another tab had asked for just then is refused, which the browser itself says
  expect(visitor.complaints.filter((complaint) => !complaint.includes('status of 401'))).toEqual([])
})

test.each(['light', 'dark'] as const)(
  'the sign-in page has no accessibility problem, in %s and at 320 px',
  async (colorScheme) => {
    for (const width of [1280, 320]) {
      const visitor = await world.visitor({ colorScheme, width })
      const page = await visitor.tab()
      await page.goto('/console')
      await page.getByRole('heading', { name: 'Sign in to Farebox' }).waitFor()
      expect(await accessibilityProblems(page)).toEqual([])
      await visitor.context.close()
    }
  },
)

test('no text becomes a script or markup on any page of ours, and no other host is in the policy', async () => {
  const visitor = await world.visitor()
  const page = await visitor.tab()
  const answer = await page.goto('/console')
  expect(answer?.headers()['content-security-policy']).toBe(
    "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; object-src 'none'; form-action 'self'; require-trusted-types-for 'script'",
  )
  await page.getByRole('heading', { name: 'Sign in to Farebox' }).waitFor()
  for (const attack of ["document.body.innerHTML = '<b>x</b>'", "document.createElement('script').text = 'x'"])
    await expect(page.evaluate(attack)).rejects.toThrow(/Trusted(HTML|Script)/)
})
