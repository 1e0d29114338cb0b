import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../test/database.ts'
import { shipped } from '../config/shipped.fixture.ts'
import { systemRandom } from '../kernel/random.ts'
import { masked, openTerminal, testPepper } from './terminal.fixture.ts'

let database: TestDatabase
let terminal: ReturnType<typeof openTerminal>
/** What `farebox serve` would need. */
let production: Record<string, string>
beforeAll(async () => {
  database = await freshDatabase()
  terminal = openTerminal({ DATABASE_URL: database.url })
  production = {
    HOST: '127.0.0.1',
    FAREBOX_CONFIG: configured('shipped.yaml', shipped().replace('allow_demo: false', 'allow_demo: true')),
  }
})
afterAll(async () => {
  terminal.close()
  await database.drop()
})

function configured(name: string, text: string): string {
  const path = join(terminal.folder, name)
  writeFileSync(path, text)
  return path
}

test('every noun says what it does without being asked to do it, and an unknown one is a usage error', async () => {
  expect(await terminal.run(['--help'])).toMatchObject({ exitCode: 0, err: '' })
  expect(await terminal.run(['--version'])).toMatchObject({ exitCode: 0, out: '0.0.0\n' })
  expect(await terminal.run([])).toMatchObject({ exitCode: 2, out: '' })
  for (const noun of ['account', 'key', 'credits', 'hold', 'config', 'prices']) {
    expect(await terminal.run([noun])).toMatchObject({
      exitCode: 2,
      out: '',
      err: expect.stringContaining('Usage'),
    })
  }
  expect(await terminal.run(['acount'])).toMatchObject({
    exitCode: 2,
    out: '',
    err: expect.stringContaining('account'),
  })
})

test('with the database away every command that needs it says so and ends with 7', async () => {
  const away = { DATABASE_URL: 'postgresql://farebox:planted-password@127.0.0.1:1/farebox' }
  for (const args of [
    ['migrate'],
    ['audit'],
    ['hold', 'list'],
    ['account', 'show', '1'],
    ['credits', 'grant', '1', '1', '--reason', 'x'],
    ['doctor'],
  ]) {
    const ran = await terminal.run(args, { environment: { ...production, ...away } })
    expect(ran.exitCode, args.join(' ')).toBe(7)
    expect(ran.out + ran.err).toContain('cannot be')
    expect(ran.out + ran.err).not.toContain('planted-password')
  }
})

test('a database that was never migrated is told to be', async () => {
  const empty = { DATABASE_URL: database.url.replace(/\/test_[^?]+/, '/postgres') }
  expect(await terminal.run(['hold', 'list'], { environment: empty })).toMatchObject({
    exitCode: 1,
    out: '',
    err: expect.stringContaining('farebox migrate'),
  })
})

test('without DATABASE_URL the development economy of the data folder is used, but never in production', async () => {
  const folder = join(terminal.folder, 'economy')
  mkdirSync(folder)
  const environment = {
    DATABASE_URL: undefined,
    FAREBOX_KEY_PEPPER: undefined,
    FAREBOX_DATA: folder,
  }
  expect(await terminal.run(['hold', 'list'], { environment })).toMatchObject({
    exitCode: 1,
    out: '',
    err: expect.stringContaining('DATABASE_URL is not set'),
  })
  writeFileSync(join(folder, 'dev.json'), JSON.stringify({ database_url: database.url }))
  writeFileSync(join(folder, 'key-pepper'), `${testPepper.toString('hex')}\n`)
  expect(await terminal.run(['hold', 'list'], { environment })).toMatchObject({ exitCode: 0 })
  const account = (await terminal.run(['account', 'create', '--type', 'agent', '--json'], { environment })).json<{
    account: { id: number }
  }>().account.id
  const key = await terminal.run(['key', 'create', String(account), '--quiet'], { environment })
  expect((await terminal.run(['key', 'whois', '--json'], { input: key.out })).json()).toMatchObject({ works: true })
  expect((await terminal.run(['doctor', '--offline'], { environment })).out).toContain('✔ key pepper')
  expect(
    await terminal.run(['hold', 'list'], {
      environment: { ...environment, NODE_ENV: 'production' },
    }),
  ).toMatchObject({ exitCode: 1 })
})

test('migrate says what it applied, then that nothing was to do; the doctor sees what is missing', async () => {
  const name = `blank_${systemRandom.bytes(6).toString('hex')}`
  const admin = new pg.Client({
    connectionString: database.url.replace('//farebox@', '//postgres@'),
  })
  await admin.connect()
  await admin.query(`create database ${name} owner farebox`)
  try {
    const environment = {
      ...production,
      DATABASE_URL: database.url.replace(/\/test_[^?]+/, `/${name}`),
    }
    const first = await terminal.run(['migrate'], { environment })
    expect(first).toMatchObject({
      exitCode: 0,
      err: '',
      out: expect.stringMatching(/^applied +0001_ground\.sql\n/),
    })
    expect((await terminal.run(['migrate'], { environment })).out).toBe('Up to date: nothing was applied.\n')
    expect((await terminal.run(['migrate', '--json'], { environment })).json()).toEqual({
      applied: [],
      functions: [],
    })
    const blank = new pg.Client({ connectionString: environment.DATABASE_URL })
    await blank.connect()
    await blank.query(`update schema_migrations set checksum = 'older' where name = '06_ledger_audit.sql'`)
    await blank.end()
    expect(await terminal.run(['doctor', '--offline'], { environment })).toMatchObject({
      exitCode: 1,
      out: expect.stringContaining('not applied: 06_ledger_audit.sql'),
    })
    expect((await terminal.run(['migrate', '--json'], { environment })).json()).toEqual({
      applied: [],
      functions: ['06_ledger_audit.sql'],
    })
  } finally {
    await admin.query(`drop database ${name} with (force)`)
    await admin.end()
  }
})

test('the audit is silent while the ledger is in order and fails with every difference', async () => {
  expect(await terminal.run(['audit'])).toMatchObject({ exitCode: 0, err: '' })
  await terminal.run(['account', 'create', '--type', 'owner'])
  const account = (await terminal.run(['account', 'create', '--type', 'owner', '--json'])).json<{
    account: { id: number }
  }>().account.id
  await terminal.run(['credits', 'grant', String(account), '1', '--reason', 'x'])
  await database.sql('update buckets set posted_micro = posted_micro + 1 where account_id = $1', [account])
  const found = await terminal.run(['audit'])
  expect(found).toMatchObject({
    exitCode: 1,
    out: expect.stringMatching(/bucket_posted +bucket \d+ +1000000 +1000001/),
    err: expect.stringContaining('1 of the ledger'),
  })
  expect((await terminal.run(['audit', '--json'])).json()).toMatchObject({
    findings: [{ check_name: 'bucket_posted' }],
  })
  expect(await terminal.run(['doctor', '--offline'], { environment: production })).toMatchObject({
    exitCode: 1,
    out: expect.stringContaining('✗ ledger'),
  })
  await database.sql('update buckets set posted_micro = posted_micro - 1 where account_id = $1', [account])
})

test('prices of models, media and capabilities are shown with their units, in Credits for people and in microcredits for programs', async () => {
  const ran = await terminal.run(['prices', 'show'], { environment: production })
  expect(masked(ran.out)).toMatchInlineSnapshot(`
    "Chat, for a million tokens:
    MODEL  VERSION  EFFECTIVE FROM  STATE  INPUT/M  CACHED/M  OUTPUT/M  MARGIN IN  MARGIN OUT
    demo-chat  1  <time>  in force  0.15  0.075  0.6  100.0 %  100.0 %
    demo-slow  1  <time>  in force  0.15  0.15  0.6  -  -
    demo-failing  1  <time>  in force  0.15  0.15  0.6  -  -
    demo-unmetered  1  <time>  in force  0.15  0.15  0.6  -  -

    Pictures and films, for one unit:
    MODEL  VERSION  EFFECTIVE FROM  STATE  FOR  UNIT  PRICE  MARGIN
    demo-image  1  <time>  in force  2K  image  0.04  100.0 %
    demo-image  1  <time>  in force  all else  image  0.02  100.0 %
    demo-video  1  <time>  in force  all else  second  0.05  -
    demo-image-slow  1  <time>  in force  all else  image  0.02  -
    demo-image-failing  1  <time>  in force  all else  image  0.02  -

    Capabilities, for one unit:
    CAPABILITY  VERSION  OPERATION  UNIT  PRICE  COUNTED IN  AT MOST
    demo-text  v1 (default)  count  call  free  -  -
    demo-text  v1 (default)  reverse  call  0.001  -  -
    demo-text  v1 (default)  pig-latin  character  0.000002  input  10000
    demo-text  v1 (default)  filler  word  0.00001  output  1000
    demo-text  v1 (default)  notarize  call  0.02  -  -
    demo-text  v1 (default)  report  call  0.005  -  -

    Prices are Credits. "-" as margin: no cost is configured, so it is not known."
  `)
  const { prices, ...others } = (await terminal.run(['prices', 'show', '--json'], { environment: production })).json<{
    prices: unknown[]
    media_prices: unknown[]
    capability_prices: unknown[]
  }>()
  expect(others.media_prices[0]).toEqual({
    model: 'demo-image',
    enabled: true,
    type: 'image',
    version: 1,
    effective_from: '2026-01-01T00:00:00.000Z',
    state: 'in force',
    unit: 'image',
    tier: { resolution: '2K' },
    unit_price_micro: 40_000,
    unit_cost_micro: 0,
    margin_percent: 100,
  })
  expect(others.capability_prices[2]).toEqual({
    capability: 'demo-text',
    enabled: true,
    version: 'v1',
    is_default: true,
    operation: 'pig-latin',
    unit: 'character',
    unit_price_micro: 2,
    counted_in: 'input',
    units_max: 10_000,
  })
  expect(prices[0]).toMatchObject({
    model: 'demo-chat',
    version: 1,
    state: 'in force',
    input_micro_per_m: 150_000,
  })
})

test('config check lists what is wrong with line and fix, and show hides every secret', async () => {
  expect(await terminal.run(['config', 'check'], { environment: production })).toMatchObject({
    exitCode: 0,
    out: expect.stringContaining('in order for production'),
  })
  const wrong = {
    ...production,
    FAREBOX_CONFIG: configured('wrong.yaml', shipped().replace('allow_demo', 'alow_demo')),
  }
  expect(await terminal.run(['config', 'check'], { environment: wrong })).toMatchObject({
    exitCode: 1,
    out: '',
    err: expect.stringMatching(/wrong\.yaml:\d+.*alow_demo.*Did you mean `allow_demo`/s),
  })
  const asJson = await terminal.run(['config', 'check', '--json'], { environment: wrong })
  expect(asJson).toMatchObject({ exitCode: 1, err: '' })
  expect(asJson.json<{ problems: unknown[] }>().problems).toContainEqual({
    where: expect.stringMatching(/wrong\.yaml:\d+/),
    problem: expect.any(String),
    fix: expect.any(String),
  })
  const shown = await terminal.run(['config', 'show'], { environment: production })
  expect(shown.out).toContain('set (sha256:')
  const asData = await terminal.run(['config', 'show', '--json'], { environment: production })
  expect(asData.json()).toMatchObject({ mode: 'production', host: '127.0.0.1' })
  for (const secret of [database.url, testPepper.toString('hex')]) expect(shown.out + shown.err).not.toContain(secret)
  expect(await terminal.run(['config', 'check', '--mode', 'staging'])).toMatchObject({
    exitCode: 2,
  })
})

test('a mistyped variable that has nothing to do with it does not keep an operator from the money', async () => {
  expect(await terminal.run(['hold', 'list'], { environment: { FAREBOX_METRIC_PORT: '1' } })).toMatchObject({
    exitCode: 0,
  })
  expect(
    await terminal.run(['hold', 'list'], {
      environment: { DATABASE_URL: 'mysql://planted-password@x' },
    }),
  ).toMatchObject({ exitCode: 1, err: expect.not.stringContaining('planted-password') })
})
