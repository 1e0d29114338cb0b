import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type AdminSetting, startAdminSetting } from './admin.ts'
import { named, type Snippet, snippetsOf } from './snippets.ts'

const run = promisify(execFile)
let setting: AdminSetting
let page: Snippet[]
beforeAll(async () => {
  page = await snippetsOf(new URL('../docs/operating-in-the-browser.md', import.meta.url))
  setting = await startAdminSetting()
})
afterAll(() => setting.test.stop())

async function shell(name: string, environment: Record<string, string> = {}) {
  const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', named(page, name)], {
    env: {
      PATH: process.env.PATH ?? '',
      FAREBOX_URL: setting.test.url,
      ADMIN_TOKEN: setting.admin.token,
      ...environment,
    },
  })
  return JSON.parse(stdout)
}

test('the page about operating in the browser runs as it stands, over a real server: overview, holds, reviews, prices', async () => {
  const person = await setting.test.person()
  await setting.test.chat(person, { model: 'demo-unmetered' })
  const hash = `0x${'ab'.repeat(32)}`
  await setting.test.database.sql(
    `insert into chain_transfers (chain_id, tx_hash, log_position, block, block_hash, block_at, token_address, payer, recipient, amount, state)
     values (31337, $1, 0, 7, '0x', now(), '0x70', '0x71', '0x72', 5000000, 'unmatched')`,
    [hash],
  )
  expect((await shell('overview')).data).toMatchObject({
    holds: { list: [{ flag: 'usage_unknown', holds: 1 }] },
    reviews: { transfers: 1 },
  })
  const { data: holds } = await shell('holds')
  expect(holds).toMatchObject([{ state: 'usage_unknown', subject: 'demo-unmetered' }])
  expect((await shell('resolve', { HOLD_ID: String(holds[0].id) })).data).toMatchObject({
    state: 'captured',
    charged_micro: 300,
    changed: true,
  })
  const { data: reviews } = await shell('reviews')
  expect(reviews).toMatchObject([{ id: `31337:${hash}:0`, kind: 'transfer' }])
  expect((await shell('dismiss', { PAYMENT_ID: reviews[0].id })).data).toMatchObject({ outcome: 'done' })
  expect((await shell('preview')).data).toEqual({ outcome: 'unchanged', lines: [] })
  expect((await shell('reload')).data).toMatchObject([{ outcome: 'unchanged' }])
  expect((await shell('overview')).data).toMatchObject({ holds: { list: [] }, reviews: { transfers: 0 } })
})

test('the page runs every example that it has', () => {
  const examples = page.filter(({ language }) => language === 'sh').map(({ name }) => name)
  expect(examples).toEqual(['overview', 'holds', 'resolve', 'reviews', 'dismiss', 'preview', 'reload'])
})
