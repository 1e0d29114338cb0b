import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { generateConfiguration } from '../../tools/generate-configuration.ts'
import { environmentTable } from './environment.ts'
import { publishedSchema } from './schema.ts'
import type { SchemaNode } from './schema-node.ts'
import { shippedWithExamples } from './shipped.fixture.ts'

test('the committed configuration page and JSON Schema are what the tables say (npm run generate)', async () => {
  const generated = await generateConfiguration()
  expect(Object.keys(generated)).toEqual(['docs/configuration.md', 'farebox.schema.json'])
  for (const [path, content] of Object.entries(generated)) {
    expect(readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8'), path).toBe(content)
  }
})

test('the page names every variable and every key, and every key says what it is for', async () => {
  const page = (await generateConfiguration())['docs/configuration.md']
  for (const name of Object.keys(environmentTable)) expect(page).toContain(`| \`${name}\``)
  for (const [key, description] of keysOf(publishedSchema())) {
    expect(description, key).toMatch(/\.$/)
    expect(page).toContain(`| \`${key}\``)
  }
})

test('the shipped file shows every key, in force or as a comment, and begins with its schema', () => {
  const text = shippedWithExamples()
  expect(text).toMatch(/^# yaml-language-server: \$schema=\.\/farebox\.schema\.json\n/)
  for (const [key] of keysOf(publishedSchema())) expect(text).toMatch(new RegExp(`[ {-]?${key}:`))
})

function* keysOf(schema: SchemaNode): Generator<[string, string | undefined]> {
  for (const [key, property] of Object.entries(schema.properties ?? {})) yield [key, property.description]
  const children = [schema.properties, schema.patternProperties].flatMap((group) => Object.values(group ?? {}))
  for (const child of [...children, ...(schema.items ? [schema.items] : []), ...(schema.anyOf ?? [])])
    yield* keysOf(child)
}
