import { expect, test } from 'vitest'
import { blank, formOf, readForm } from './form.ts'
import { priceOf } from './operation.ts'

const schema = {
  type: 'object',
  required: ['text', 'style'],
  properties: {
    text: { type: 'string', maxLength: 10_000, description: 'The text.' },
    words: { type: 'integer', default: 10 },
    share: { type: 'number' },
    loud: { type: 'boolean' },
    style: { enum: ['plain', 2, null] },
    tags: { type: 'array', items: { type: 'string' } },
  },
}

test('each property becomes the field of its type, with its default in it', () => {
  const form = formOf(schema)
  if ('whole' in form) throw new Error('it is a plain object')
  expect(form.fields.map(({ name, kind, required, long }) => [name, kind, required, long])).toEqual([
    ['text', 'text', true, true],
    ['words', 'integer', false, false],
    ['share', 'number', false, false],
    ['loud', 'boolean', false, false],
    ['style', 'choice', true, false],
    ['tags', 'json', false, false],
  ])
  expect(form.fields[4]?.choices).toEqual(['"plain"', '2', 'null'])
  expect(blank(form)).toEqual({ text: '', words: '10', share: '', loud: '', style: '', tags: '' })
})

test('what was typed is read by its type, and what is empty and not needed is left out', () => {
  const form = formOf(schema)
  const typed = { text: ' 1 ', words: '3', share: '1.5', loud: 'false', style: 'null', tags: '["a"]' }
  expect(readForm(form, typed)).toEqual({
    input: { text: ' 1 ', words: 3, share: 1.5, loud: false, style: null, tags: ['a'] },
  })
  expect(readForm(form, { text: 'x', style: '2' })).toEqual({ input: { text: 'x', style: 2 } })
})

test('what does not fit is named, and nothing is sent', () => {
  const typed = { words: '1.5', share: 'much', tags: '[', style: '2' }
  const read = readForm(formOf(schema), typed)
  expect(Object.keys('problems' in read ? read.problems : {})).toEqual(['text', 'words', 'share', 'tags'])
  expect(readForm(formOf(schema), { text: 'x', style: '2', words: '9007199254740993' })).toHaveProperty('problems')
})

test('a schema that is no plain object is typed as JSON', () => {
  for (const other of [{}, { type: 'object' }, { ...schema, oneOf: [{}] }]) {
    const form = formOf(other)
    expect(form).toEqual({ whole: true })
    expect(readForm(form, { '': '{"a":1}' })).toEqual({ input: { a: 1 } })
    expect(readForm(form, { '': '[1]' })).toHaveProperty('problems')
  }
  expect(formOf({ type: 'object', additionalProperties: false })).toEqual({ fields: [] })
})

test('the price is that of the input where it is counted there, and else the most that is held', () => {
  const pricing = {
    billing_kind: 'credit',
    unit: 'character',
    unit_price_micro: 2,
    unit_price_micro_usdc: 2,
    currency: 'CREDIT',
    max_hold_micro: 20_000,
  } as const
  const byText = { ...pricing, mode: 'per_unit', units_from: 'input', units_at: '/text' } as const
  expect(priceOf({ ...pricing, mode: 'fixed' }, undefined)).toEqual({ micro: 2, atMost: false })
  expect(priceOf(byText, { text: 'añ😀' })).toEqual({ micro: 6, atMost: false })
  expect(priceOf(byText, undefined)).toEqual({ micro: 20_000, atMost: true })
  expect(priceOf({ ...byText, units_from: 'output' }, { text: 'abc' })).toEqual({ micro: 20_000, atMost: true })
  expect(priceOf({ ...byText, units_at: '/a~1b/0' }, { 'a/b': [1.2] })).toEqual({ micro: 4, atMost: false })
})
