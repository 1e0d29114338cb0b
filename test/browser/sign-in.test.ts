import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../app.ts'
import { installWallet } from './wallet.ts'
import { accessibilityProblems, type BrowserWorld, startBrowserWorld } from './world.ts'

let world: BrowserWorld
let home: string
const running: ChildProcess[] = []
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'farebox-device-'))
  world = await startBrowserWorld()
}, 120_000)
afterAll(async () => {
  for (const program of running) program.kill('SIGKILL')
  await world?.stop()
  await rm(home, { recursive: true, force: true })
})

test('an owner signs in by one click at the identity provider, and nothing is asked of any other host', async () => {
  const visitor = await world.visitor()
  const page = await visitor.tab()
  await visitor.signIn(page)
  await page.getByText('1,000').first().waitFor()
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
  await visitor.signIn(first)
  await first.close()
  visitor.requests.length = 0
  const tabs = await Promise.all([visitor.tab(), visitor.tab(), visitor.tab()])
  await Promise.all(tabs.map((tab) => tab.goto('/console/keys')))
  await Promise.all(tabs.map((tab) => tab.getByRole('heading', { name: 'API keys' }).waitFor()))
  expect(visitor.requests.filter((request) => request === 'POST /v1/auth/refresh')).toHaveLength(1)
  await tabs[0]?.getByRole('button', { name: 'Sign out' }).click()
  for (const tab of tabs) await tab.getByRole('heading', { name: 'Sign in to Farebox' }).waitFor()
  expect(visitor.complaints).toEqual([])
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

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url))

/** `farebox login` in a pipe, until it has printed its first event. */
async function login() {
  const env = { PATH: process.env.PATH, HOME: home, FAREBOX_BASE_URL: world.development.base_url }
  const program = spawn(process.execPath, [MAIN, 'login'], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  running.push(program)
  let output = ''
  for (const stream of [program.stdout, program.stderr]) stream.on('data', (data) => (output += data))
  await until(() => output.includes('"event":"code"'), 'the program shows its code')
  const event = JSON.parse(output.split('\n')[0] ?? '') as { user_code: string; verification_uri_complete: string }
  const ended = async () => {
    await until(() => program.exitCode !== null, 'the program ends')
    return { exitCode: program.exitCode, output }
  }
  return { ...event, ended }
}

/** A code that a program shows, without the program: for pages that are only looked at. */
async function codeOf(clientName: string): Promise<string> {
  const { user_code } = (await world.call('owner', '/v1/auth/device', { client_name: clientName })) as {
    user_code: string
  }
  return user_code
}
const overflows = (page: Page) =>
  page.evaluate<number>('document.documentElement.scrollWidth - document.documentElement.clientWidth')

test('an owner who is not signed in opens the address of farebox login, signs in, approves, and the program goes on', async () => {
  const program = await login()
  const visitor = await world.visitor()
  const page = await visitor.tab()
  await page.goto(program.verification_uri_complete)
  await page.getByRole('link', { name: /^Continue with/ }).click()
  await page.getByRole('button', { name: new RegExp(world.development.owner.email) }).click()
  await page.getByText(program.user_code).waitFor()
  await page.getByRole('heading', { name: /^farebox on / }).waitFor()
  expect(new URL(page.url()).search).toBe(`?user_code=${program.user_code}`)
  await page.getByRole('button', { name: 'Approve' }).click()
  await page.getByText('The program is logged in').waitFor()
  const { exitCode, output } = await program.ended()
  expect([exitCode, output]).toEqual([0, expect.stringContaining('"event":"logged_in"')])
  const kept = await readFile(join(home, '.config/farebox/credentials.json'), 'utf8')
  expect(kept).toContain(world.development.base_url)
  await page.getByRole('link', { name: 'See the sessions' }).click()
  await page
    .getByText(/^farebox on /)
    .first()
    .waitFor()
  expect(visitor.complaints).toEqual([])
})

test('by keyboard alone, a code is typed in small letters without its dash, looked at, and denied', async () => {
  const code = await codeOf('a program')
  const visitor = await world.visitor()
  const page = await visitor.tab()
  await visitor.signIn(page)
  await page.goto('/console/device')
  await page.getByRole('textbox', { name: 'Code' }).focus()
  await page.keyboard.type('abc')
  await page.keyboard.press('Enter')
  await page.getByText('A code has eight letters.').waitFor()
  await page.keyboard.press('ControlOrMeta+a')
  await page.keyboard.type(code.toLowerCase().replace('-', ''))
  await page.keyboard.press('Enter')
  const deny = page.getByRole('button', { name: 'Deny' })
  await deny.focus()
  await page.keyboard.press('Enter')
  await page.getByText('The program was told.').waitFor()
  expect(visitor.complaints).toEqual([])
})

test('an approval is taken back while the program has not come for its tokens', async () => {
  const visitor = await world.visitor()
  const page = await visitor.tab()
  await visitor.signIn(page)
  await page.goto(`/console/device?user_code=${await codeOf('slow program')}`)
  await page.getByRole('button', { name: 'Approve' }).click()
  await page.getByRole('button', { name: 'Take it back' }).click()
  await page.getByText('The program was told.').waitFor()
})

test('a code that nothing waits with says so and lets one type again; an Agent is told who may', async () => {
  const visitor = await world.visitor()
  const page = await visitor.tab()
  await visitor.signIn(page)
  await page.goto('/console/device?user_code=BBBB-BBBB')
  await page.getByText('No program waits with this code').waitFor()
  await page.getByRole('button', { name: 'Type the code again' }).click()
  await page.getByRole('textbox', { name: 'Code' }).waitFor()
  const agent = await (await world.visitor()).tab()
  const { private_key: privateKey } = world.development.agent
  const { rpc_url: rpcUrl, chain_id: chainId } = world.development.chain
  await installWallet(agent, { privateKey, rpcUrl, chainId })
  await agent.goto('/console/device?user_code=BBBB-BBBB')
  await agent.getByRole('button', { name: 'Test wallet' }).click()
  await agent.getByRole('button', { name: 'Sign in Test wallet' }).click()
  await agent.getByText('Only owners approve programs').waitFor()
})

test.each([
  { colorScheme: 'light', width: 1280 },
  { colorScheme: 'dark', width: 320 },
] as const)(
  'the page has no accessibility problem and no sideways scrolling in any state, in $colorScheme at $width px',
  async (look) => {
    const visitor = await world.visitor(look)
    const page = await visitor.tab()
    await visitor.signIn(page)
    const problems: string[] = []
    const examine = async (state: string, shown: string): Promise<void> => {
      await page.getByText(shown).first().waitFor()
      if (process.env.FAREBOX_SCREENSHOTS)
        await page.screenshot({
          path: `${process.env.FAREBOX_SCREENSHOTS}/device-${state}-${look.colorScheme}.png`,
          fullPage: true,
        })
      problems.push(...(await accessibilityProblems(page)).map((problem) => `${state}: ${problem}`))
      if ((await overflows(page)) > 0) problems.push(`${state} scrolls sideways`)
    }
    await page.goto('/console/device')
    await examine('empty', 'Which code does the program show?')
    await page.goto('/console/device?user_code=BBBB-BBBB')
    await examine('unknown', 'No program waits')
    await page.goto(`/console/device?user_code=${await codeOf('a program with quite a long name, on build-machine-7')}`)
    await examine('asked', 'Approve it only if')
    await page.getByRole('button', { name: 'Approve' }).click()
    await examine('approved', 'Take it back')
    await page.getByRole('button', { name: 'Take it back' }).click()
    await examine('denied', 'The program was told.')
    expect(problems).toEqual([])
  },
)
