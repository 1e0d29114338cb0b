import type { BrowserWorld } from './world.ts'

/** A call whose cost is unknown, as `farebox hold list` has it. */
export interface UnknownHold {
  readonly id: number
  readonly request_id: string
}

/** The owner makes a call whose cost stays unknown. */
export async function unknownCost(world: BrowserWorld): Promise<UnknownHold> {
  await world.call('owner', '/v1/chat/completions', chat('demo-unmetered'))
  const { holds } = JSON.parse(await world.operator('hold', 'list', '--json')) as {
    holds: ReadonlyArray<UnknownHold & { actor_account_id: number; flag: string }>
  }
  const own = holds.filter(
    ({ actor_account_id, flag }) => actor_account_id === world.development.owner.account_id && flag === 'usage_unknown',
  )
  const newest = own.toSorted((a, b) => b.id - a.id)[0]
  if (newest === undefined) throw new Error('no hold of the owner waits')
  return newest
}

/** What `farebox` exits with where nothing was charged. */
const CONFLICT = 5

/** The operator says what it cost: more than was held, and more than the owner has. */
export async function costsMore(world: BrowserWorld, { id }: UnknownHold, micro: number): Promise<void> {
  const reason = ['--reason', 'the bill of the provider']
  const resolve = ['hold', 'resolve', String(id), '--actual', String(micro), '--above-hold', ...reason]
  const exitCode = await world.operator(...resolve).then(
    () => 0,
    (error: { code: number }) => error.code,
  )
  if (exitCode !== CONFLICT) throw new Error(`hold ${id} did not become a shortfall: exit code ${exitCode}`)
}

/** Somebody's picture fails, and the provider charges for it all the same. */
export async function failedAfterCharge(world: BrowserWorld, person: 'owner' | 'agent'): Promise<void> {
  const body = { model: 'demo-image-failing', prompt: 'fail:billed' }
  const made = (await world.call(person, '/v1/images/generations', body)) as { poll_url: string }
  const task = (await world.call(person, `${made.poll_url}?wait=30`)) as { state: string }
  if (task.state !== 'fail') throw new Error(`the picture should have failed, and is ${task.state}`)
}

const chat = (model: string) => ({ model, max_tokens: 50, messages: [{ role: 'user', content: 'hello' }] })

/** Something of everything that has rows, so that pages are looked at with rows too. */
export async function seed(world: BrowserWorld): Promise<void> {
  const images = [
    ['demo-image', 'A lighthouse at night'],
    ['demo-image-failing', 'fail:unknown'],
    ['demo-image-failing', 'fail:failed'],
    ['demo-image-failing', 'fail:timeout'],
  ] as const
  for (const person of ['owner', 'agent'] as const) {
    for (const model of ['demo-chat', 'demo-chat', 'demo-unmetered'])
      await world.call(person, '/v1/chat/completions', chat(model))
    for (const [model, prompt] of images) await world.call(person, '/v1/images/generations', { model, prompt })
    await failedAfterCharge(world, person)
  }
  await costsMore(world, await unknownCost(world), 3_000_000_000)
  await costsMore(world, await unknownCost(world), 1_100_000_000)
  await world.operator('credits', 'grant', String(world.development.owner.account_id), '150', '--reason', 'a present')
  await seedByClicks(world)
}

/** What only a signed-in owner may do. */
async function seedByClicks(world: BrowserWorld): Promise<void> {
  const visitor = await world.visitor()
  const page = await visitor.tab()
  await visitor.signIn(page)
  await page.goto('/console/refunds')
  await page.getByRole('button', { name: /^Refund call/ }).click()
  await page.getByLabel('Why').fill('the picture never came')
  await page.getByRole('button', { name: 'Ask for the refund' }).click()
  await page.getByRole('dialog').getByText('The Credits are back').waitFor()
  await page.goto('/console/webhooks')
  await page.getByRole('button', { name: 'New endpoint' }).click()
  await page.getByLabel('URL').fill(`${world.development.base_url}/v1/nothing-here`)
  await page.getByLabel('Description').fill('A server that is not there')
  await page.getByRole('button', { name: 'Create endpoint' }).click()
  await page.getByLabel('I have stored it').check()
  await page.getByRole('button', { name: 'Close' }).click()
  await page.getByRole('button', { name: 'Send a test' }).click()
  await page.getByText('webhook.test').waitFor()
  await visitor.context.close()
}
