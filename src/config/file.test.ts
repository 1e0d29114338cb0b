import fc from 'fast-check'
import type { TSchema } from 'typebox'
import { Check } from 'typebox/value'
import { describe, expect, test } from 'vitest'
import { type Document, isCollection, isMap, isScalar, type Node, parseDocument, visit, type YAMLMap } from 'yaml'
import { readConfigurationFile } from './file.ts'
import { publishedSchema } from './schema.ts'
import { shippedWithExamples } from './shipped.fixture.ts'

/** The shipped file with its examples. Tests change a copy. */
const example = parseDocument(shippedWithExamples())
const problemsOf = (text: string) => readConfigurationFile(text, 'farebox.yaml').problems
const minimal = `providers:
  local:
    kind: openai-compatible
    base_url: http://127.0.0.1:11434/v1
models:
  - id: small
    name: Small
    context_length: 1000
    max_output_tokens: 100
    default_output_tokens: 50
    providers: [{ provider: local, model: small }]
    prices: [{ version: 1, effective_from: 2026-01-01T00:00:00Z, input_micro_per_m: 1, output_micro_per_m: 2 }]
`

describe('readConfigurationFile', () => {
  test('a minimal file is filled up with defaults', () => {
    const { content, problems } = readConfigurationFile(minimal, 'farebox.yaml')
    expect(problems).toEqual([])
    expect(content.allow_demo).toBe(false)
    expect(content.providers.local).toMatchObject({
      connections: 256,
      headers: {},
      idle_timeout_ms: 120_000,
    })
    expect(content.models[0]).toMatchObject({
      tokens_per_message_overhead: 8,
      input_modalities: ['text'],
      capabilities: { streaming: true, tools: false },
      enabled: true,
      providers: [{ priority: 0, missing_usage: 'hold' }],
    })
    expect(content.limits).toEqual({
      queue_operations_max: 10_000,
      body_bytes: 1_048_576,
      media_body_bytes: 31_457_280,
      concurrent_tasks: 64,
      chat_body_bytes: 8_388_608,
    })
  })

  test('the shipped file and its commented-out examples have no problem', () => {
    expect(problemsOf(shippedWithExamples())).toEqual([])
  })

  test('an unknown key anywhere in the tree is refused with its line', () => {
    const maps = mapsOf(parseDocument(shippedWithExamples()))
    fc.assert(
      fc.property(
        fc.nat(maps.length - 1),
        fc.stringMatching(/^[a-z_]{1,16}$/),
        fc.jsonValue({ maxDepth: 1 }),
        (index, rest, value) => {
          const key = `zz_${rest}_zz`
          const document = example.clone()
          const map = mapsOf(document)[index]
          map?.items.push(document.createPair(key, value))
          const text = document.toString({ lineWidth: 0 })
          const line = text.slice(0, text.indexOf(key)).split('\n').length
          expect(problemsOf(text)).toContainEqual({
            where: `farebox.yaml:${line}`,
            problem: `Unknown key \`${key}\`.`,
            fix: expect.any(String),
          })
        },
      ),
    )
  })

  test('accepts and refuses exactly what the published JSON Schema accepts and refuses', () => {
    const schema = publishedSchema() as TSchema
    const count = nodesOf(parseDocument(shippedWithExamples())).length
    const counts = { accepted: 0, refused: 0 }
    fc.assert(
      fc.property(fc.nat(count - 1), replacement, (index, value) => {
        const document = example.clone()
        const path = nodesOf(document)[index] ?? []
        if (value === removed) document.deleteIn(path)
        else document.setIn(path, document.createNode(value))
        const ours = problemsOf(document.toString({ lineWidth: 0 })).length === 0
        counts[ours ? 'accepted' : 'refused']++
        expect(ours).toBe(Check(schema, document.toJS()))
      }),
      { numRuns: 250 },
    )
    expect(Math.min(counts.accepted, counts.refused)).toBeGreaterThan(10)
  })

  test.each([
    ['modles', 'models', /^models:/m],
    ['contextlength', 'context_length', /context_length(?=:)/],
    ['prise', 'prices', /prices(?=:)/],
    ['base_ur', 'base_url', /base_url(?=:)/],
    ['effective-from', 'effective_from', /effective_from(?=:)/],
  ])('%s is answered with: did you mean %s?', (typo, meant, place) => {
    const text = minimal.replace(place, (found) => found.replace(meant, typo))
    const line = text.slice(0, text.indexOf(typo)).split('\n').length
    expect(problemsOf(text)).toContainEqual({
      where: `farebox.yaml:${line}`,
      problem: `Unknown key \`${typo}\`.`,
      fix: `Did you mean \`${meant}\`?`,
    })
  })

  test.each([
    ['a price that is a fraction', 'input_micro_per_m: 1,', 'input_micro_per_m: 1.5,', 12, 'It cannot be `1.5`.'],
    [
      'a price that is a fraction of nothing',
      'input_micro_per_m: 1,',
      'input_micro_per_m: 1.0,',
      12,
      'It cannot be `1.0`.',
    ],
    ['a price with an exponent', 'input_micro_per_m: 1,', 'input_micro_per_m: 1e3,', 12, 'It cannot be `1e3`.'],
    ['a negative price', 'input_micro_per_m: 1,', 'input_micro_per_m: -1,', 12, 'It cannot be `-1`.'],
    [
      'a price over 9e15',
      'input_micro_per_m: 1,',
      'input_micro_per_m: 9000000000000001,',
      12,
      'It cannot be `9000000000000001`.',
    ],
    ['a price in words', 'input_micro_per_m: 1,', 'input_micro_per_m: "1",', 12, 'It cannot be this text.'],
    ['a missing key', '    name: Small\n', '', 6, 'The key `name` is missing.'],
    ['an unknown kind', 'openai-compatible', 'openai', 3, 'There is no such kind.'],
    ['a missing kind', '    kind: openai-compatible\n', '', 3, 'The key `kind` is missing.'],
    ['an address with a user', 'http://127', 'http://me@127', 4, 'The text cannot be used.'],
    ['a date without a time', '2026-01-01T00:00:00Z', '2026-01-01', 12, 'The text cannot be used.'],
    ['a list that must not be empty', '[{ provider: local, model: small }]', '[]', 11, 'The list has 0 entries.'],
    ['a text that is too long', 'Small', 'S'.repeat(129), 7, 'The text cannot be used.'],
    ['an empty value', 'name: Small', 'name:', 7, 'The value is missing.'],
    ['a list for a text', 'name: Small', 'name: [Small]', 7, 'It cannot be a list.'],
    [
      'a repeated key',
      '    name: Small\n',
      '    name: Small\n    name: Big\n',
      8,
      'This is not YAML: Map keys must be unique.',
    ],
  ])('%s is refused with its line', (_, before, after, line, problem) => {
    expect(minimal).toContain(before)
    expect(problemsOf(minimal.replace(before, after))).toContainEqual({
      where: `farebox.yaml:${line}`,
      problem,
      fix: expect.stringMatching(/.+[.?]$/),
    })
  })

  test('a problem that several places share is told once', () => {
    const text = minimal.replace('openai-compatible', 'other').replace('base_url', '[a]: 1\n    base_url')
    const problems = problemsOf(text).map(({ where, problem }) => `${where} ${problem}`)
    expect(problems.length).toBeGreaterThan(1)
    expect(new Set(problems).size).toBe(problems.length)
  })

  test('a wrong word of a choice is answered with the closest one', () => {
    const text = minimal.replace('model: small }', 'model: small, missing_usage: hodl }')
    expect(problemsOf(text)).toMatchObject([{ where: 'farebox.yaml:11', fix: 'Did you mean `hold`?' }])
  })

  test('all problems are told at once, each once, those beside broken entries too', () => {
    const text = `allow_demo: maybe\nlimts: {}\n${minimal.replace('name: Small', 'nam: Small').replace('openai-compatible', 'other\n    conections: 1')}`
    expect(problemsOf(text).map(({ where }) => where)).toEqual([
      'farebox.yaml:1',
      'farebox.yaml:2',
      'farebox.yaml:5',
      'farebox.yaml:6',
      'farebox.yaml:10',
      'farebox.yaml:9',
    ])
  })

  test('a text that is no YAML, an empty file and a file of one word are refused, not crashed on', () => {
    for (const text of ['', '# nothing', 'word', '- a', '{', 'a: b: c', '? [a]\n: b', 'models: *nowhere', '\u0000']) {
      expect(problemsOf(text).length, text).toBeGreaterThan(0)
    }
  })

  test('a text in the wrong place is not repeated: it may be a secret', () => {
    const secret = 'sk-planted-secret'
    for (const key of ['headers', 'connections', 'api_key_env', 'kind', 'base_url', 'api_key']) {
      const text = minimal.replace('kind: openai-compatible', `kind: openai-compatible\n    ${key}: ${secret}`)
      expect(problemsOf(text).length, key).toBeGreaterThan(0)
      expect(JSON.stringify(problemsOf(text)), key).not.toContain(secret)
    }
  })

  test('a name that every object inherits is not taken for a key or a provider', () => {
    expect(problemsOf(minimal.replace('allow_demo', 'x').replace('models:', 'constructor: 1\nmodels:'))).toMatchObject([
      { where: 'farebox.yaml:5', problem: 'Unknown key `constructor`.' },
    ])
    expect(problemsOf(minimal.replace('  local:', '  __proto__:')).length).toBeGreaterThan(0)
  })

  test('an alias stands for what it names', () => {
    const text = minimal
      .replace('[{ version', '&prices [{ version')
      .concat(
        '  - { id: other, name: Other, context_length: 9, max_output_tokens: 9, default_output_tokens: 9, providers: [{ provider: local, model: o }], prices: *prices }\n',
      )
    const { content, problems } = readConfigurationFile(text, 'farebox.yaml')
    expect(problems).toEqual([])
    expect(content.models[1]?.prices).toEqual(content.models[0]?.prices)
  })
})

const removed = Symbol('removed')

const replacement = fc.oneof(
  fc.constant(removed),
  fc.boolean(),
  fc.integer(),
  fc.maxSafeNat(),
  fc.constantFrom(0.5, 0, 1, 'hold', 'image', 'demo', 'a b', '2026-01-01T00:00:00Z', 'https://example.com/v1'),
  fc.string(),
  fc.constantFrom([], {}, ['text'], [1], { kind: 'demo' }, { a: 1 }, { version: 1 }),
)

/** All maps but those whose keys are names, and the JSON Schemas with all that is in them. */
function mapsOf(document: Document): YAMLMap[] {
  const maps: YAMLMap[] = []
  visit(document, {
    Map(_, map, path) {
      const keys = path.flatMap((step) => ('key' in step && isScalar(step.key) ? [step.key.value] : []))
      if (keys.includes('input_schema') || keys.includes('output_schema')) return
      const owner = path.findLast((step) => 'key' in step)
      const key = keys.at(-1)
      const named =
        owner &&
        'value' in owner &&
        owner.value === map &&
        ['headers', 'headers_env', 'assets', 'providers'].includes(String(key))
      if (!named) maps.push(map)
    },
  })
  return maps
}

/** The path of every node below the root. */
function nodesOf(document: Document): (string | number)[][] {
  const paths: (string | number)[][] = []
  const walk = (node: Node | null, path: (string | number)[]): void => {
    if (path.length > 0) paths.push(path)
    if (!isCollection(node)) return
    for (const [index, item] of node.items.entries()) {
      if (isMap(node)) {
        const pair = item as { key: Node; value: Node | null }
        walk(pair.value, [...path, isScalar(pair.key) ? String(pair.key.value) : ''])
      } else walk(item as Node, [...path, index])
    }
  }
  walk(document.contents, [])
  return paths
}
