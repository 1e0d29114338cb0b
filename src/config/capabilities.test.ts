import { expect, test } from 'vitest'
import { resolveVersion } from './capabilities.ts'
import { loadConfig } from './config.ts'
import { thaw } from './frozen.ts'
import { ConfigurationFault } from './problem.ts'
import { shipped } from './shipped.fixture.ts'

const file = (capability: string): string => `providers: { demo: { kind: demo } }
models: [{ id: demo-a, name: A, context_length: 9, max_output_tokens: 9, default_output_tokens: 9, providers: [{ provider: demo, model: chat }], prices: [{ version: 1, effective_from: 2026-01-01T00:00:00Z, input_micro_per_m: 1, output_micro_per_m: 1 }] }]
capabilities:
${capability}`

const operation = '{ slug: forecast, name: F, path: /forecast, price: { kind: fixed, micro: 5 } }'
const usual = `  - slug: weather
    name: Weather
    upstream: { kind: http, base_url: "https://w.example.com/api/", headers_env: { Authorization: WEATHER } }
    versions:
      - version: v1
        operations: [${operation}]
`
const load = (yaml: string) =>
  loadConfig({
    environment: { WEATHER: 'Bearer planted secret' },
    readFile: () => yaml,
    now: new Date('2026-06-01'),
    mode: 'development',
  })

function problemOf(yaml: string): string {
  try {
    load(yaml)
  } catch (error) {
    if (!(error instanceof ConfigurationFault)) throw error
    return error.problems.map(({ where, problem }) => `${where} ${problem}`).join('\n')
  }
  return ''
}

test('a capability is read with its defaults, and its secret header apart from it', () => {
  const { config, secrets } = load(file(usual))
  expect(config.capabilities[0]).toMatchObject({
    slug: 'weather',
    category: 'general',
    fundingModes: ['self_only', 'self_then_owner', 'owner_only'],
    upstream: { kind: 'http', baseUrl: 'https://w.example.com/api', headersEnv: { authorization: 'WEATHER' } },
    defaultVersion: 'v1',
    versions: [
      { defaultOperation: 'forecast', operations: [{ method: 'POST', modes: ['sync'], price: { micro: 5n } }] },
    ],
  })
  expect(secrets.capabilityHeaders).toEqual({ weather: { authorization: 'Bearer planted secret' } })
})

test.each([
  ['a slug twice', usual + usual, /farebox.yaml:10 Capability `weather`: the slug is used twice/],
  ['a demo under a real name', usual.replace(/\{ kind: http.*\}$/m, '{ kind: demo }'), /:6 .*its slug does not say so/],
  [
    'a secret in the file',
    usual.replace('headers_env: { Authorization: WEATHER }', 'headers: { x-api-key: a }'),
    /:6 .*the header `x-api-key` cannot be set here/,
  ],
  ['a variable that is not set', usual.replace('WEATHER', 'NOT_THERE'), /:6 .*`NOT_THERE` is not set/],
  [
    'a variable of the server',
    usual.replace('WEATHER', 'DATABASE_URL'),
    /:6 .*`DATABASE_URL` is a variable of the server itself/,
  ],
  ['a header of the connection', usual.replace('Authorization:', 'Host:'), /:6 .*the header `Host` cannot be set/],
  [
    'a version twice',
    `${usual}      - version: v1\n        operations: [${operation}]\n`,
    /:10 .*version v1 is there twice/,
  ],
  ['a default version that is not there', `${usual}    default_version: v2\n`, /:10 .*there is no version v2/],
  [
    'a default version that is withdrawn',
    `${usual}    withdrawn_versions: [v1]\n`,
    /:10 .*the default version v1 is withdrawn/,
  ],
  [
    'an operation twice',
    usual.replace(`[${operation}]`, `[${operation}, ${operation}]`),
    /:9 .*`forecast` of v1 is there twice/,
  ],
  [
    'a default operation that is not there',
    `${usual}        default_operation: none\n`,
    /:10 .*there is no operation none/,
  ],
  [
    'a free asynchronous operation',
    usual.replace('micro: 5 }', 'micro: 0 }, modes: [async]'),
    /:9 .*is asynchronous and free/,
  ],
  ['a mode twice', usual.replace('micro: 5 }', 'micro: 5 }, modes: [sync, sync]'), /:9 .*names a mode twice/],
  [
    'a price beyond every amount',
    usual.replace(
      '{ kind: fixed, micro: 5 }',
      '{ kind: input_units, unit: word, micro: 9000000000000000, at: /a, units_max: 2 }',
    ),
    /:9 .*could hold more than any amount/,
  ],
  [
    'a schema with a keyword that is none',
    usual.replace('micro: 5 }', 'micro: 5 }, input_schema: { type: object, propertys: {} }'),
    /:9 .*input_schema is no JSON Schema 2020-12: .*propertys/,
  ],
  [
    'a schema that refers to nothing',
    usual.replace('micro: 5 }', 'micro: 5 }, output_schema: { $ref: "#/$defs/a" }'),
    /:9 .*output_schema is no JSON Schema 2020-12/,
  ],
  [
    'a schema elsewhere',
    usual.replace('micro: 5 }', 'micro: 5 }, output_schema: { $ref: "https://example.com/a.json" }'),
    /:9 .*output_schema is no JSON Schema 2020-12/,
  ],
  [
    'an input that is no object',
    usual.replace('micro: 5 }', 'micro: 5 }, input_schema: { type: array }'),
    /:9 .*takes no object/,
  ],
  [
    'a field with a name of ours',
    usual.replace('micro: 5 }', 'micro: 5 }, method: GET, input_schema: { type: object, properties: { version: {} } }'),
    /:9 .*`version` is a name of our own/,
  ],
  [
    'a schema that is text',
    usual.replace('micro: 5 }', 'micro: 5 }, input_schema: object'),
    /:9 It cannot be this text/,
  ],
])('%s is refused with its line', (_, capability, problem) => {
  expect(problemOf(file(capability))).toMatch(problem)
})

test('a secret of a capability is never repeated', () => {
  expect(problemOf(file(usual.replace('https://w', 'ftp://w')))).not.toContain('planted')
})

test('what is frozen has no defaults, so that a later release with more settings gives the same hash', () => {
  const [weather] = load(file(usual)).config.capabilities
  expect(weather?.versions[0]?.descriptor).toEqual({
    version: 'v1',
    operations: [{ slug: 'forecast', name: 'F', path: '/forecast', price: { kind: 'fixed', micro: 5 } }],
  })
})

test('what was frozen is the same version again, whatever defaults are written out', () => {
  const [demo] = load(shipped()).config.capabilities
  const [version] = demo?.versions ?? []
  const thawed = resolveVersion(thaw(JSON.parse(JSON.stringify(version?.descriptor))))
  expect(thawed).toEqual(version)
  const written = usual.replace('path: /forecast', 'path: /forecast, read_only: false, method: POST, summary: ""')
  const hashOf = (yaml: string) => load(file(yaml)).config.capabilities[0]?.versions[0]?.hash
  expect(hashOf(written)).toBe(hashOf(usual))
  expect(hashOf(usual.replace('micro: 5', 'micro: 6'))).not.toBe(hashOf(usual))
})
