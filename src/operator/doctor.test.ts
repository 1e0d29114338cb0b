import { writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../test/database.ts'
import { fakeS3 } from '../../test/s3.ts'
import { shipped } from '../config/shipped.fixture.ts'
import { masked, openTerminal } from './terminal.fixture.ts'

let database: TestDatabase
let terminal: ReturnType<typeof openTerminal>
/** Planted: it must be in no output. */
const PROVIDER_KEY = 'planted-provider-key'
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

test('the doctor finds nothing wrong with a healthy installation', async () => {
  const ran = await terminal.run(['doctor'], { environment: production })
  expect(ran.err).toBe('')
  expect(ran.exitCode).toBe(0)
  const steady = ran.out
    .replace(/\S+shipped.yaml/, '<file>')
    .replace(/PostgreSQL [\d.]+, \d+ MiB/, 'PostgreSQL <version>')
    .replace(/\d+ MiB free for \S+/, '<room>')
    .replace(/\d+ ms/, '<skew>')
    .replace(/schema( +)\S+,/, 'schema$1<migration>,')
  expect(masked(steady)).toMatchInlineSnapshot(`
    "✔ configuration  <file> and the environment, as for production
    ✔ models priced  8 enabled, all priced
    ✔ margin  every model is sold at or above its cost
    ✔ database  PostgreSQL <version>, login farebox
    ✔ clocks  <skew> apart
    ✔ durability  fsync, full_page_writes and synchronous_commit are on
    ✔ schema  <migration>, nothing pending
    ✔ application role  farebox_app owns nothing and cannot write balances
    ✔ key pepper  set; \`farebox key whois\` with a working key proves that it is the right one
    ✔ ledger  every balance follows from its rows
    ✔ open holds  none waits for a decision
    ✔ provider demo  built in
    ✔ disk  <room>"
  `)
})

test('the doctor finds a store of results that does not take our key, and one that does', async () => {
  const s3 = await fakeS3()
  const yaml = (secret: string) =>
    shipped()
      .replace('allow_demo: false', 'allow_demo: true')
      .replace(
        'results:\n',
        `results:\n  s3: { endpoint: "${s3.url}", bucket: pictures, access_key_id_env: S3_ID, secret_access_key_env: ${secret} }\n`,
      )
  const look = async (secret: string, more: string[] = []) => {
    const environment = {
      ...production,
      S3_ID: s3.accessKey.id,
      RIGHT: s3.accessKey.secret,
      WRONG: 'planted-wrong-secret',
      FAREBOX_CONFIG: configured('s3.yaml', yaml(secret)),
    }
    const { out, err } = await terminal.run(['doctor', ...more], { environment })
    expect(out + err).not.toContain('planted-wrong-secret')
    return out.split('\n').find((line) => line.includes('results'))
  }
  expect(await look('RIGHT')).toMatch(/✔ results +bucket pictures at 127\.0\.0\.1:\d+ answers/)
  expect(await look('WRONG')).toMatch(/✗ results +.*403/)
  expect(await look('WRONG', ['--offline'])).toMatch(/- results +.*not asked/)
  s3.close()
})

test('the doctor finds a provider that does not answer, unless told to stay offline, and one that does', async () => {
  const listening = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => listening.once('listening', resolve))
  const { port } = listening.address() as { port: number }
  const providers = `providers:\n  here: { kind: openai-compatible, base_url: "http://127.0.0.1:${port}/v1" }\n  gone: { kind: openai-compatible, base_url: "http://127.0.0.1:1/v1", api_key_env: GONE_KEY }`
  const environment = {
    ...production,
    GONE_KEY: PROVIDER_KEY,
    FAREBOX_CONFIG: configured(
      'providers.yaml',
      shipped()
        .replace('allow_demo: false', 'allow_demo: true')
        .replace(/^providers:$/m, providers),
    ),
  }
  const ran = await terminal.run(['doctor', '--json'], { environment })
  listening.close()
  expect(ran.exitCode).toBe(1)
  const { checks } = ran.json<{ checks: Array<{ name: string; status: string; fix?: string }> }>()
  expect(checks.filter(({ status }) => status === 'failed')).toMatchObject([
    { name: 'provider gone', fix: expect.stringMatching(/base_url/) },
  ])
  expect(checks).toContainEqual(expect.objectContaining({ name: 'provider here', status: 'ok' }))
  expect(ran.out + ran.err).not.toContain(PROVIDER_KEY)
  expect(await terminal.run(['doctor', '--offline'], { environment })).toMatchObject({
    exitCode: 0,
    out: expect.stringMatching(/- provider gone/),
  })
})

test('a model that is sold below its cost is a loss in prices and a failure for the doctor', async () => {
  const dear = shipped()
    .replace('allow_demo: false', 'allow_demo: true')
    .replace(/cost: #.*\n.*\n.*/, 'cost: { input_micro_per_m: 300000, output_micro_per_m: 300000 }')
  const environment = { ...production, FAREBOX_CONFIG: configured('loss.yaml', dear) }
  expect((await terminal.run(['prices', 'show'], { environment })).out).toMatch(/demo-chat .*-100\.0 % LOSS +50\.0 %/)
  expect(await terminal.run(['doctor', '--offline'], { environment })).toMatchObject({
    exitCode: 1,
    out: expect.stringContaining('sold below cost: demo-chat'),
  })
  const dearPicture = shipped()
    .replace('allow_demo: false', 'allow_demo: true')
    .replace('unit_price_micro: 40000, unit_cost_micro: 0', 'unit_price_micro: 40000, unit_cost_micro: 50000')
  const media = { ...production, FAREBOX_CONFIG: configured('media-loss.yaml', dearPicture) }
  expect((await terminal.run(['prices', 'show'], { environment: media })).out).toMatch(
    /demo-image .* 2K +image +0\.04 +-25\.0 % LOSS/,
  )
  expect(await terminal.run(['doctor', '--offline'], { environment: media })).toMatchObject({
    exitCode: 1,
    out: expect.stringContaining('sold below cost: demo-image'),
  })
})
