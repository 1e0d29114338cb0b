import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { loadConfig } from './config.ts'
import { ConfigurationFault } from './problem.ts'
import { shipped } from './shipped.fixture.ts'

const loaded = (yaml: string, mode: 'development' | 'production', environment: Record<string, string> = {}) =>
  loadConfig({
    environment: {
      ...(mode === 'production' && {
        FAREBOX_PUBLIC_URL: 'https://api.example.com',
        DATABASE_URL: 'postgresql://farebox@db/farebox',
        FAREBOX_KEY_PEPPER: '0'.repeat(64),
      }),
      ...environment,
    },
    readFile: (path) => (path === 'farebox.yaml' ? yaml : undefined),
    now: new Date('2026-11-01'),
    mode,
  })

const s3 = (more = '') =>
  shipped().replace(
    'results:\n',
    `results:
  s3:
    endpoint: https://s3.example.com/
    bucket: pictures
    access_key_id_env: S3_ID
    secret_access_key_env: S3_SECRET
${more}`,
  )

test('nothing said, results are kept on disk for a week, and only development may ask its own machine', () => {
  const { config, secrets } = loaded(shipped(), 'development')
  expect(config.results).toMatchObject({ keepDays: 7, s3: undefined })
  expect(secrets.resultsKey).toBeUndefined()
  expect(config.outgoing.allowedNetworks).toEqual(['127.0.0.0/8', '::1/128'])
  const open = shipped().replace(/^outgoing:$/m, 'outgoing:\n  allowed_networks: [10.0.0.0/8]')
  expect(loaded(open, 'development').config.outgoing.allowedNetworks).toEqual(['10.0.0.0/8'])
})

test('a public server may ask no private network unless it is named', () => {
  const yaml = shipped().replace('allow_demo: false', 'allow_demo: true')
  expect(loaded(yaml, 'production').config.outgoing.allowedNetworks).toEqual([])
})

test('an S3 service takes its keys from the environment, and no setting repeats them', () => {
  const { config, secrets } = loaded(s3(), 'development', { S3_ID: 'planted-id', S3_SECRET: 'planted-secret' })
  expect(config.results.s3).toEqual({
    endpoint: 'https://s3.example.com',
    region: 'us-east-1',
    bucket: 'pictures',
    prefix: 'results/',
    addressStyle: 'path',
    timeoutMs: 60_000,
  })
  expect(secrets.resultsKey).toEqual({ id: 'planted-id', secret: 'planted-secret' })
  expect(inspect(config, { depth: null })).not.toContain('planted')
})

test('a missing key and text that is no network are problems with their place', () => {
  const broken = s3().replace(/^outgoing:$/m, 'outgoing:\n  allowed_networks: [10.0.0.0/33]')
  const load = () => loaded(broken, 'development', { S3_ID: 'planted-id' })
  expect(load).toThrow(ConfigurationFault)
  expect(load).toThrow(/`S3_SECRET` is not set/)
  expect(load).toThrow(/`10.0.0.0\/33` is no network/)
  expect(load).not.toThrow(/planted/)
})
