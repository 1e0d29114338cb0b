import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type AdminSetting, startAdminSetting } from './admin.ts'
import { ledgerFixture } from './ledger-fixture.ts'
import { refundInReview } from './refund-in-review.ts'
import { named, type Snippet, snippetsOf } from './snippets.ts'

const run = promisify(execFile)
const path = new URL('../docs/administration.md', import.meta.url)
let setting: AdminSetting
let page: Snippet[]
beforeAll(async () => {
  page = await snippetsOf(path)
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

test('the page about administration runs as it stands: find, grant, ban, refund, invite, and all of it in a log that is whole', async () => {
  const make = ledgerFixture(setting.test.database)
  const account = await make.account('owner', { email: 'ada@example.com' })
  const { id: refund } = await refundInReview(setting.test.database, account)
  const environment = { ACCOUNT_ID: String(account), REFUND_ID: refund }
  expect((await shell('find')).data).toMatchObject([{ id: Number(account), email: 'ada@example.com' }])
  const first = await shell('grant', environment)
  expect(first.data).toMatchObject({ amount_micro: 2_500_000, repeated: false })
  expect((await shell('grant', environment)).data).toEqual({ ...first.data, repeated: true })
  expect((await shell('approve', environment)).data).toMatchObject({ status: 'completed', amount_micro: 700 })
  expect((await shell('ban', environment)).data).toMatchObject({ status: 'banned', changed: true })
  expect((await shell('invite')).data.code).toMatch(/^inv_[0-9a-z]{26}$/)
  expect((await shell('log', environment)).data).toMatchObject([
    { action: 'ban.account', reason: 'sends spam' },
    { action: 'grant.credits', reason: 'the picture never came' },
  ])
  expect(await shell('verify')).toMatchObject({ ok: true, broken: null, next_after_id: 0 })
  expect((await setting.get(`/v1/admin/accounts/${account}`)).json.balance_micro).toBe(2_500_700)
})

test('every endpoint of accounts, grants, refunds, invitations and the log is on the page', () => {
  const sections = ['accounts', 'refunds', 'invitations', 'audit-log']
  const paths = setting.test.app.routes
    .filter((route) => sections.some((section) => route.path.startsWith(`/v1/admin/${section}`)))
    .map((route) => route.path.replace(/:(\w+)/g, '{$1}'))
  const text = readFileSync(path, 'utf8')
  const missing = paths.filter((wanted) => {
    const end = wanted.replace(/^\/v1\/admin\/[a-z-]+(\/\{id\})?/, '')
    return !text.includes(wanted) && !(end !== '' && text.includes(`${end}\``))
  })
  expect(missing).toEqual([])
})
