import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { until } from '../until.ts'
import { MAIN } from './running.ts'
import { installWallet } from './wallet.ts'
import { accessibilityProblems, type BrowserWorld, startBrowserWorld } from './world.ts'

let world: BrowserWorld
let home: string
const running: ChildProcess[] = []
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'farebox-device-'))
  world = await startBrowserWorld()
})
afterEach(() => world.leave())
afterAll(async () => {
  for (const program of running) program.kill('SIGKILL')
  await world?.stop()
  await rm(home, { recursive: true, force: true })
})

/** `farebox login` in a pipe, until it has printed its first event. */
async function login() {
  const env = { PATH: process.env.PATH, HOME: home, FAREBOX_BASE_URL: world.development.base_url }
  const program = spawn(process.execPath, [MAIN, 'login'], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  running.push(program)
  let output = ''
  for (const stream of [program.stdout, program.stderr]) stream.on('data', (data) => (output += data))
  // what people read comes on the other stream, before or after it
  const told = () => /^\{.*"event":"code".*\}$/m.exec(output)?.[0]
  await until(() => told() !== undefined, 'the program shows its code')
  const event = JSON.parse(told() ?? '') as { user_code: string; verification_uri_complete: string }
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
