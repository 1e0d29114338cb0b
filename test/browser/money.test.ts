import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright-core'
import { Webhook } from 'standardwebhooks'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { newOwner, type Person } from './people.ts'
import { pictureForDocuments } from './pictures.ts'
import { costsMore, failedAfterCharge, unknownCost } from './seed.ts'
import { accessibilityProblems, type BrowserWorld, startBrowserWorld, type Visitor } from './world.ts'

const PATIENT = { timeout: 30_000 }

let world: BrowserWorld
let owner: Person
beforeAll(async () => {
  world = await startBrowserWorld()
  owner = await newOwner(world, { name: 'money', credits: 1000 })
})
afterEach(() => world.leave())
afterAll(() => world?.stop())

/** The owner, at a page of the console. */
async function at(path: string): Promise<{ visitor: Visitor; page: Page }> {
  const visitor = await world.visitor()
  const page = await visitor.tab()
  await visitor.signIn(page, owner.email, path)
  return { visitor, page }
}

/** What the head of the page says is available, in microcredits. */
async function availableMicro(page: Page): Promise<bigint> {
  const title = await page.getByRole('banner').locator('[title$="microcredits"]').getAttribute('title')
  return BigInt(title?.split(' ')[0] ?? '')
}

const settlementOf = (page: Page, requestId: string) => page.getByRole('article').filter({ hasText: requestId })

test('a call of unknown cost is amber in Settlements, found from Home, and can be authorized by nobody', async () => {
  const requestId = await unknownCost(world, owner)
  const { visitor, page } = await at('/console')
  await page.getByText(/waits? for (its|their) settlement/).waitFor()
  await page.getByRole('link', { name: 'See settlements' }).click()
  const item = settlementOf(page, requestId)
  await item.getByText('Cost unknown, not free').waitFor()
  expect(await item.locator('.notice').getAttribute('data-tone')).toBe('warn')
  expect(await item.getByText('Quote the request id to support').count()).toBe(1)
  expect(await item.getByRole('button', { name: 'Authorize' }).count()).toBe(0)
  expect(await accessibilityProblems(page)).toEqual([])
  expect(visitor.complaints).toEqual([])
})

test('what a call cost above its hold is paid by a click, once there is enough, after saying who pays what', async () => {
  const requestId = await unknownCost(world, owner)
  await costsMore(world, requestId, 1_500_000_000)
  const { visitor, page } = await at('/console/settlements')
  const item = settlementOf(page, requestId)
  await item.getByText('has too few Credits now').waitFor()
  expect(await item.getByRole('button', { name: 'Authorize' }).count()).toBe(0)
  await world.operator('credits', 'grant', String(owner.accountId), '1000', '--reason', 'to settle it')
  await page.reload()
  await item.getByRole('button', { name: 'Authorize' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('1,499.999967').first().waitFor()
  expect(await dialog.getByRole('listitem').textContent()).toBe(
    `1,499.999967 Credits by account ${owner.accountId}, which is yours`,
  )
  expect(await accessibilityProblems(page)).toEqual([])
  await dialog.getByRole('button', { name: /^Pay / }).click()
  await dialog.waitFor({ state: 'detached' })
  await page.getByLabel('Show').selectOption('all')
  await item.getByText('Settled').waitFor()
  expect(visitor.complaints).toEqual([])
})

test('a failed call that was charged is refunded from Requests, and the balance moves back', async () => {
  const { visitor, page } = await at('/console/requests?status=failed')
  await page.getByText('No calls here').waitFor()
  const before = await availableMicro(page)
  await failedAfterCharge(world, owner)
  await page.reload()
  const refund = page.getByRole('button', { name: /^Refund call/ })
  await refund.waitFor()
  await expect.poll(() => availableMicro(page), PATIENT).toBe(before - 20_000n)
  await refund.click()
  await page.getByLabel('Why').fill('no picture came')
  await pictureForDocuments(page, 'requests-refund')
  expect(await accessibilityProblems(page)).toEqual([])
  await page.getByRole('button', { name: 'Ask for the refund' }).click()
  await page.getByText('The Credits are back').waitFor()
  await page.getByText(`to account ${owner.accountId}`).waitFor()
  await page.getByRole('button', { name: 'Close' }).click()
  await page.getByText('It was refunded.').waitFor()
  await expect.poll(() => availableMicro(page), PATIENT).toBe(before)
  expect(visitor.complaints).toEqual([])
})

test('a picture is made for the price on the button, and is in the gallery, loaded, until it is said to go', async () => {
  const { visitor, page } = await at('/console/images')
  await page
    .getByRole('button', { name: 'A lighthouse at night' })
    .or(page.getByLabel('What it shows'))
    .first()
    .waitFor()
  await page.getByLabel('What it shows').fill('A fox in the snow')
  await page.getByLabel('Kind').selectOption({ label: '2K, 0.04 Credits' })
  await page.getByRole('button', { name: 'Make it for 0.04 Credits' }).waitFor()
  await page.getByLabel('Kind').selectOption({ label: 'Ordinary, 0.02 Credits' })
  await page.getByRole('button', { name: 'Make it for 0.02 Credits' }).click()
  const picture = page.getByRole('img', { name: 'A fox in the snow' })
  await picture.waitFor()
  await expect.poll(() => picture.evaluate((image) => Reflect.get(image, 'naturalWidth')), PATIENT).toBe(1024)
  await page.getByText('Kept until').waitFor()
  await page.getByRole('article', { name: 'A fox in the snow' }).getByText('0.02 Credits charged.').waitFor()
  const download = page.waitForEvent('download')
  await page.getByRole('link', { name: 'Download' }).click()
  expect((await download).suggestedFilename()).toMatch(/\.png$/)
  expect(await accessibilityProblems(page)).toEqual([])
  expect(visitor.complaints).toEqual([])
})

test('an endpoint is made, its secret shown once verifies a test, and the log sends it again', async () => {
  const received: Array<{ body: string; headers: Record<string, string> }> = []
  const receiver = createServer(async (request, response) => {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece)
    received.push({ body: Buffer.concat(pieces).toString(), headers: request.headers as Record<string, string> })
    response.writeHead(204).end()
  }).listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  try {
    const { visitor, page } = await at('/console/webhooks')
    await page.getByRole('button', { name: 'New endpoint' }).click()
    await page.getByLabel('URL').fill(`http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hooks`)
    await page.getByLabel('Description').fill('My server')
    await page.getByLabel('task.finished').check()
    await pictureForDocuments(page, 'webhooks-new')
    expect(await accessibilityProblems(page)).toEqual([])
    await page.getByRole('button', { name: 'Create endpoint' }).click()
    const secret = await page.getByLabel('signing secret', { exact: true }).locator('code').textContent()
    expect(await page.getByRole('button', { name: 'Close' }).isDisabled()).toBe(true)
    await page.getByLabel('I have stored it').check()
    await page.getByRole('button', { name: 'Close' }).click()
    await page.getByRole('button', { name: 'Send a test' }).click()
    await page.getByRole('table').getByText('Delivered').waitFor()
    expect(received).toHaveLength(1)
    const [{ body, headers } = { body: '', headers: {} }] = received
    expect(new Webhook(secret ?? '').verify(body, headers)).toMatchObject({ type: 'webhook.test' })
    await page.getByRole('button', { name: /^Send again: delivery/ }).click()
    await expect.poll(() => received.length, PATIENT).toBe(2)
    expect(await page.textContent('body')).not.toContain(secret)
    expect(visitor.complaints).toEqual([])
  } finally {
    receiver.close()
  }
})

test('an operation is tried for the price on its button, once however often it is sent, and leads to its call', async () => {
  const { visitor, page } = await at('/console/capabilities')
  const operation = page.getByRole('group').filter({ hasText: 'Pig Latin' }).first()
  await operation.getByText('Pig Latin', { exact: true }).click()
  await operation.getByRole('button', { name: 'Call it for at most 0.02 Credits' }).click()
  await operation.getByText('This is needed.').waitFor()
  await operation.getByLabel('text', { exact: true }).fill('hello world')
  const keys: string[] = []
  await page.route('**/operations/pig-latin', async (route) => {
    keys.push(route.request().headers()['idempotency-key'] ?? '')
    // the call is made and charged, and its first answer is lost on the way
    const answer = await route.fetch()
    await (keys.length === 1 ? route.abort() : route.fulfill({ response: answer }))
  })
  const before = await availableMicro(page)
  await operation.getByRole('button', { name: 'Call it for 0.000022 Credits' }).click()
  await operation.getByText('The server cannot be reached').waitFor()
  await operation.getByRole('button', { name: 'Try again' }).click()
  await operation.getByText('ellohay orldway').waitFor()
  await pictureForDocuments(page, 'capabilities-tried')
  expect(keys).toEqual([keys[0], keys[0]])
  expect(keys[0]).not.toBe('')
  await expect.poll(() => availableMicro(page), PATIENT).toBe(before - 22n)
  expect(await accessibilityProblems(page)).toEqual([])
  await operation.getByRole('tab', { name: 'curl' }).press('ArrowRight')
  await operation.getByText("farebox.request('POST'").waitFor()
  await operation.getByRole('link', { name: /^See call/ }).click()
  await page.getByRole('heading', { name: 'Requests' }).waitFor()
  await page.getByRole('cell', { name: /demo-text/ }).waitFor()
  expect(await page.getByRole('row').count()).toBe(2)
  const said = visitor.complaints.filter((complaint) => !complaint.includes('ERR_FAILED'))
  expect(said).toEqual([])
})

test('an operation that answers with a task is followed until it is done', async () => {
  const { visitor, page } = await at('/console/capabilities')
  const operation = page.getByRole('group').filter({ hasText: 'Counts each word' }).first()
  await operation.getByText('Report', { exact: true }).click()
  await operation.getByLabel('text', { exact: true }).fill('to be or not to be')
  await operation.getByRole('button', { name: 'Call it for 0.005 Credits' }).click()
  await operation.getByText('The task is done.').waitFor()
  await operation.getByText('0.005 Credits charged.').waitFor()
  await operation.getByText('"different_words": 4').waitFor()
  expect(visitor.complaints).toEqual([])
})
