import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Config, loadConfig, type Mode, type Secrets } from './config.ts'
import { describeConfig } from './describe.ts'
import type { RawEnvironment } from './environment.ts'
import { priceInForce } from './models.ts'
import { ConfigurationFault, type Problem } from './problem.ts'
import { readTextFile } from './read-file.ts'
import { exampleKeys, shipped, shippedWithExamples } from './shipped.fixture.ts'

const now = new Date('2026-06-01T00:00:00Z')
const pepper = '0123456789abcdef'.repeat(4)
const wired = {
  DATABASE_URL: 'postgres://farebox:planted-password@db/farebox',
  FAREBOX_KEY_PEPPER: pepper,
  FAREBOX_PUBLIC_URL: 'https://api.example.com',
}

interface Given {
  file?: string
  environment?: RawEnvironment
  mode?: Mode
  files?: Record<string, string>
}

function load({ file = shipped(), environment = {}, mode = 'development', files = {} }: Given = {}): {
  config: Config
  secrets: Secrets
} {
  const readFile = (path: string) => ({ 'farebox.yaml': file, ...files })[path]
  return loadConfig({ environment, readFile, now, mode })
}

function problemsOf(given: Given): readonly Problem[] {
  try {
    load(given)
    return []
  } catch (error) {
    if (error instanceof ConfigurationFault) return error.problems
    throw error
  }
}

/** A file with one model and one provider that need no environment; `model` replaces keys of the model. */
function fileWith(model: Record<string, unknown> = {}, top = ''): string {
  const price = {
    version: 1,
    effective_from: '2026-01-01T00:00:00Z',
    input_micro_per_m: 10,
    output_micro_per_m: 20,
  }
  const whole = {
    id: 'small',
    name: 'Small',
    context_length: 1000,
    max_output_tokens: 100,
    default_output_tokens: 50,
    providers: [{ provider: 'local', model: 'small' }],
    prices: [price],
    ...model,
  }
  return `${top}providers: { local: { kind: openai-compatible, base_url: "http://127.0.0.1:1/v1" } }\nmodels:\n  - ${JSON.stringify(whole)}\n`
}

const version = (number: number, from: string, input = 1) => ({
  version: number,
  effective_from: from,
  input_micro_per_m: input,
  output_micro_per_m: 2,
})

describe('loadConfig', () => {
  test('development needs nothing but the shipped file', () => {
    const { config, secrets } = load()
    expect(config).toMatchObject({ publicUrl: 'http://127.0.0.1:8787', configurationFile: 'farebox.yaml' })
    expect(config.models.map(({ id }) => id)).toEqual(['demo-chat', 'demo-slow', 'demo-failing', 'demo-unmetered'])
    expect(config.limits).toEqual({
      requestsPerMinutePerCredential: 60_000,
      authRequestsPerMinutePerAddress: 60_000,
      topupRequestsPerMinutePerAddress: 60_000,
      concurrentStreams: undefined,
      queueOperationsMax: 10_000,
      bodyBytes: 1_048_576,
      mediaBodyBytes: 31_457_280,
      concurrentTasks: 64,
      chatBodyBytes: 8_388_608,
    })
    expect(JSON.stringify(secrets)).not.toMatch(/:"/)
  })

  test('production takes the public limits, and every address', () => {
    const { config } = load({ mode: 'production', environment: wired, file: fileWith() })
    expect(config.host).toBe('0.0.0.0')
    expect(config.limits).toMatchObject({
      requestsPerMinutePerCredential: 600,
      authRequestsPerMinutePerAddress: 60,
      topupRequestsPerMinutePerAddress: 10,
    })
  })

  test('without a file in the working folder the one of the package is read', () => {
    const readFile = (path: string) => (path === 'farebox.yaml' ? undefined : readTextFile(path))
    const { config } = loadConfig({ environment: {}, readFile, now, mode: 'development' })
    expect(config.models[0]?.id).toBe('demo-chat')
    expect(config.configurationFile).toMatch(/.farebox\.yaml$/)
  })

  test('a file that was named and is not there is refused, never replaced by another', () => {
    expect(problemsOf({ environment: { FAREBOX_CONFIG: 'other.yaml' } })).toMatchObject([
      { where: 'FAREBOX_CONFIG', problem: 'There is no file other.yaml.' },
    ])
  })

  test('prices are exact integers in microcredits', () => {
    const { config } = load()
    expect(config.models[0]?.prices[0]).toEqual({
      version: 1,
      effectiveFrom: new Date('2026-01-01T00:00:00Z'),
      inputMicroPerM: 150_000n,
      outputMicroPerM: 600_000n,
      cachedInputMicroPerM: 75_000n,
      cost: { inputMicroPerM: 0n, outputMicroPerM: 0n },
    })
    const largest = load({ file: fileWith({ prices: [version(1, '2026-01-01T00:00:00Z', 9e15)] }) })
    expect(largest.config.models[0]?.prices[0]).toMatchObject({
      inputMicroPerM: 9_000_000_000_000_000n,
    })
  })

  test('cached input costs what input costs unless it has its own price', () => {
    expect(load().config.models[1]?.prices[0]?.cachedInputMicroPerM).toBe(150_000n)
  })

  test('the configuration is frozen to its leaves', () => {
    const open: string[] = []
    const walk = (value: unknown, path: string) => {
      if (typeof value !== 'object' || value === null) return
      if (!Object.isFrozen(value)) open.push(path)
      for (const [key, member] of Object.entries(value)) walk(member, `${path}.${key}`)
    }
    walk(
      load({
        file: shippedWithExamples(),
        environment: exampleKeys,
      }).config,
      'config',
    )
    expect(open).toEqual([])
  })

  test('providers of a model are tried by priority, then in the order of the file', () => {
    const providers = ['c', 'a', 'b', 'd'].map((model, index) => ({
      provider: 'local',
      model,
      priority: index === 0 ? 1 : 0,
    }))
    expect(load({ file: fileWith({ providers }) }).config.models[0]?.providers.map(({ model }) => model)).toEqual([
      'a',
      'b',
      'd',
      'c',
    ])
  })

  test('whatever a line of the file says, the answer is a configuration or a ConfigurationFault', () => {
    const lines = shippedWithExamples().split('\n')
    const value = fc.oneof(
      fc.string(),
      fc.jsonValue({ maxDepth: 2 }).map((json) => JSON.stringify(json)),
    )
    const environment = exampleKeys
    fc.assert(
      fc.property(fc.nat(lines.length - 1), value, (index, text) => {
        const changed = lines.with(
          index,
          (lines[index] ?? '').replace(/:.*|$/, () => `: ${text}`),
        )
        expect(Array.isArray(problemsOf({ file: changed.join('\n'), environment }))).toBe(true)
      }),
      { numRuns: 200 },
    )
    expect(problemsOf({ file: fileWith().replace('"http://127.0.0.1:1/v1"', '1') })).toMatchObject([
      { where: 'farebox.yaml:1' },
    ])
  })

  test('problems of environment, file and rules are told together', () => {
    const problems = problemsOf({
      environment: { PORT: 'x', FAREBOX_X: '1' },
      file: `nope: 1\n${fileWith({ prices: [] })}`,
    })
    expect(problems.map(({ where }) => where).toSorted()).toEqual([
      'FAREBOX_X',
      'PORT',
      'farebox.yaml:1',
      'farebox.yaml:4',
    ])
  })
})

describe('a price', () => {
  const prices = [
    version(1, '2026-01-01T00:00:00Z', 1),
    version(2, '2026-02-01T00:00:00+01:00', 2),
    version(5, '2027-01-01T00:00:00Z', 3),
  ]

  test('is in force from its effective_from on, to the millisecond, until the next', () => {
    const model = load({ file: fileWith({ prices }) }).config.models[0]
    if (!model) throw new Error('no model')
    const inForce = (time: string) => priceInForce(model, new Date(time))?.version
    expect(inForce('2025-12-31T23:59:59.999Z')).toBeUndefined()
    expect(inForce('2026-01-01T00:00:00Z')).toBe(1)
    expect(inForce('2026-01-31T22:59:59.999Z')).toBe(1)
    expect(inForce('2026-01-31T23:00:00Z')).toBe(2)
    expect(inForce('2030-01-01T00:00:00Z')).toBe(5)
  })
})

describe('a model is refused', () => {
  test.each<[string, Record<string, unknown>, RegExp]>([
    ['without prices', { prices: [] }, /Unpriced model/],
    ['without a prices key', { prices: undefined }, /Unpriced model/],
    ['whose only price is in the future', { prices: [version(1, '2026-06-01T00:00:00.001Z')] }, /Unpriced model/],
    ['that names an unknown provider', { providers: [{ provider: 'locl', model: 'x' }] }, /no provider `locl`/],
    [
      'with a default output over its maximum',
      { default_output_tokens: 101 },
      /default_output_tokens 101 is more than max_output_tokens 100/,
    ],
    ['with a minimum output over its default', { minimum_output_tokens: 51 }, /minimum_output_tokens 51 is more/],
    ['with an output over its context', { context_length: 99 }, /max_output_tokens 100 is more than context_length 99/],
    [
      'with a repeated price version',
      { prices: [version(1, '2026-01-01T00:00:00Z'), version(1, '2026-02-01T00:00:00Z')] },
      /version 1 is used twice/,
    ],
    [
      'with prices out of order',
      { prices: [version(1, '2026-02-01T00:00:00Z'), version(2, '2026-01-01T00:00:00Z')] },
      /not later/,
    ],
    [
      'with two prices of one time',
      { prices: [version(1, '2026-01-01T00:00:00Z'), version(2, '2026-01-01T01:00:00+01:00')] },
      /not later/,
    ],
    ['with a day that does not exist', { prices: [version(1, '2026-02-30T00:00:00Z')] }, /no such time/],
    ['that takes images without their tokens', { input_modalities: ['text', 'image'] }, /takes images/],
    ['with tokens for images that it does not take', { image_input_tokens: 5 }, /do not list `image`/],
  ])('%s', (_, model, problem) => {
    expect(problemsOf({ file: fileWith(model) })).toContainEqual({
      where: 'farebox.yaml:3',
      problem: expect.stringMatching(problem),
      fix: expect.stringMatching(/.+[.?]$/),
    })
  })

  test('whose id is used twice, at the second', () => {
    const file = fileWith()
    expect(problemsOf({ file: file + file.split('\n')[2] })).toMatchObject([
      { where: 'farebox.yaml:4', problem: expect.stringContaining('used twice') },
    ])
  })

  test('that a demo provider serves under another name than demo', () => {
    const file = shipped().replace('id: demo-slow', 'id: slow')
    expect(problemsOf({ file })).toMatchObject([{ problem: expect.stringContaining('its id does not say so') }])
  })

  test('but not for its price while it is disabled', () => {
    expect(problemsOf({ file: fileWith({ prices: [], enabled: false }) })).toEqual([])
  })

  test('beside a broken provider too', () => {
    const other = 'other: { kind: openai-compatible, base_url: "http://127.0.0.1:1/v1", api_key_env: MISSING }'
    const file = fileWith().replace('{ local: {', `{ ${other}, local: { connections: none,`)
    expect(problemsOf({ file: file.replace('provider":"local', 'provider":"nowhere') })).toHaveLength(3)
  })

  test('for its own faults only when its provider is broken too', () => {
    const file = fileWith().replace('kind: openai-compatible', 'kind: openai-compatible, connections: none')
    expect(problemsOf({ file })).toMatchObject([{ where: 'farebox.yaml:1' }])
  })
})

describe('a provider', () => {
  const file = (extra: string) => fileWith().replace('base_url', `${extra}, base_url`)

  test("takes its key from the variable it names, or from that variable's file", () => {
    const given = { file: file('api_key_env: LOCAL_KEY') }
    expect(load({ ...given, environment: { LOCAL_KEY: 'sk-1' } }).secrets.providerKeys).toEqual({
      local: 'sk-1',
    })
    const files = { '/key': 'sk-2\n' }
    expect(load({ ...given, environment: { LOCAL_KEY_FILE: '/key' }, files }).secrets.providerKeys).toEqual({
      local: 'sk-2',
    })
    expect(problemsOf(given)).toMatchObject([
      { where: 'farebox.yaml:1', problem: expect.stringContaining('`LOCAL_KEY` is not set') },
    ])
  })

  test.each(['DATABASE_URL', 'FAREBOX_KEY_PEPPER', 'FAREBOX_OTHER'])('never gets %s as its key', (variable) => {
    const environment = variable === 'FAREBOX_OTHER' ? {} : wired
    expect(problemsOf({ file: file(`api_key_env: ${variable}`), environment })).toMatchObject([
      { problem: expect.stringContaining('server itself') },
    ])
  })

  test('refuses a key with line breaks, which could add headers', () => {
    const given = {
      file: file('api_key_env: LOCAL_KEY'),
      environment: { LOCAL_KEY: 'a\r\nx: planted' },
    }
    expect(problemsOf(given)).toMatchObject([{ problem: expect.stringContaining('line breaks') }])
    expect(JSON.stringify(problemsOf(given))).not.toContain('planted')
  })

  test.each(['Authorization', 'x-api-key', 'cookie', 'Host', 'content-length'])('refuses the header %s', (header) => {
    expect(problemsOf({ file: file(`headers: { ${header}: planted }`) })).toMatchObject([
      { problem: expect.stringContaining(header) },
    ])
  })

  test('sends other headers, their names in lower case', () => {
    const { config } = load({ file: file('headers: { HTTP-Referer: farebox }') })
    expect(config.providers.local).toMatchObject({ headers: { 'http-referer': 'farebox' } })
  })
})

describe('production is refused', () => {
  const production = (environment: RawEnvironment, file = fileWith()) =>
    problemsOf({ mode: 'production', environment, file })

  test('never, when everything is set', () => {
    expect(production(wired)).toEqual([])
  })

  test.each(['DATABASE_URL', 'FAREBOX_KEY_PEPPER', 'FAREBOX_PUBLIC_URL'])('without %s', (name) => {
    expect(production({ ...wired, [name]: undefined })).toMatchObject([{ where: name, problem: 'It is not set.' }])
  })

  test('with a public address that is not https, unless HOST is loopback', () => {
    const environment = { ...wired, FAREBOX_PUBLIC_URL: 'http://api.example.com' }
    expect(production(environment)).toMatchObject([{ where: 'FAREBOX_PUBLIC_URL' }])
    for (const HOST of ['127.0.0.1', '127.1.2.3', 'localhost', '::1'])
      expect(production({ ...environment, HOST })).toEqual([])
    for (const HOST of ['0.0.0.0', '::', '10.0.0.1', '127.example.com'])
      expect(production({ ...environment, HOST })).toHaveLength(1)
  })

  test('with demo providers and models, unless allow_demo says so', () => {
    expect(production(wired, shipped())).toHaveLength(10)
    expect(production(wired, shipped().replace('allow_demo: false', 'allow_demo: true'))).toEqual([])
    expect(production(wired, fileWith({ id: 'demo-x' }))).toMatchObject([{ where: 'farebox.yaml:3' }])
  })

  test('once for a value that is wrong, not also as missing', () => {
    expect(production({ ...wired, DATABASE_URL: 'nonsense' })).toHaveLength(1)
    expect(production({ ...wired, DATABASE_URL: undefined, DATABASE_URL_FILE: '/none' })).toHaveLength(1)
  })
})

test('the development economy refuses NODE_ENV=production', () => {
  expect(problemsOf({ environment: { NODE_ENV: 'production' } })).toMatchObject([{ where: 'NODE_ENV' }])
})

test('metrics on the port of the API are refused', () => {
  expect(problemsOf({ environment: { FAREBOX_METRICS_PORT: '8787' } })).toMatchObject([
    { where: 'FAREBOX_METRICS_PORT' },
  ])
})

describe('describeConfig', () => {
  const file = shippedWithExamples()
  const environment = { ...wired, ...exampleKeys }

  test('shows every setting in force, and of secrets only whether they are set', () => {
    const { config, secrets } = load({ file, environment })
    const text = describeConfig(config, secrets)
    expect(text).toContain('drain_ms: 25000')
    expect(text).toContain('input_micro_per_m: 150000')
    expect(text).toContain('effective_from: 2026-01-01T00:00:00.000Z')
    expect(text).toMatch(/ {2}database_url: set \(sha256:[0-9a-f]{4}…\)\n/)
    expect(text).toMatch(/ {2}key_pepper: set \(sha256:[0-9a-f]{4}…\)\n/)
    expect(text).toMatch(/ {4}api_key: set \(sha256:[0-9a-f]{4}…\)\n/)
    expect(describeConfig(load().config, load().secrets)).toContain('database_url: not set')
  })

  test('no secret is in the configuration, in its description or in a fault', () => {
    const { config, secrets } = load({ file, environment })
    const fault = new ConfigurationFault(problemsOf({ file, environment: { ...environment, PORT: 'x' } }))
    const exact = (_: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value)
    for (const text of [JSON.stringify(config, exact), describeConfig(config, secrets), fault.message]) {
      for (const secret of ['planted', pepper]) expect(text).not.toContain(secret)
    }
  })
})
