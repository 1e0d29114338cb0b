import { expect, test } from 'vitest'
import { addressOf, asCurl, sampleInput } from './request.ts'

const path = '/v1/capabilities/demo-text/operations/count'
const text = { name: 'text', required: true, type: 'string' }

test('what can be copied has all that the operation needs, where its method wants it', () => {
  const get = { method: 'GET', path, idempotency_key_required: false }
  expect(asCurl(get, sampleInput({ input_fields: [text] }), 'https://api.example')).toBe(
    `curl -s "https://api.example${path}?text=hello" \\\n  -H "authorization: Bearer $FAREBOX_API_KEY"`,
  )
  const words = { name: 'words', required: false, type: 'integer', default: 10 }
  const style = { name: 'style', required: true, enum: ["don't", 'do'] }
  const left = { name: 'left_out', required: false, type: 'string' }
  const post = { method: 'POST', path, idempotency_key_required: true }
  expect(asCurl(post, sampleInput({ input_fields: [words, style, left] }), 'https://api.example')).toBe(
    [
      `curl -s "https://api.example${path}"`,
      '-H "authorization: Bearer $FAREBOX_API_KEY"',
      '-H "idempotency-key: $(uuidgen)"',
      `-H 'content-type: application/json'`,
      `-d '{"words":10,"style":"don'\\''t"}'`,
    ].join(' \\\n  '),
  )
})

test('an input that stands in the address is text there as it is, and all else is JSON', () => {
  const input = { text: 'a b&c', words: 3, list: ['x'] }
  expect(addressOf({ method: 'GET', path }, input)).toBe(`${path}?text=a+b%26c&words=3&list=%5B%22x%22%5D`)
  expect(addressOf({ method: 'GET', path }, {})).toBe(path)
  expect(addressOf({ method: 'POST', path }, input)).toBe(path)
})
