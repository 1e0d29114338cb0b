import { expect, test } from 'vitest'
import { asCurl } from './request.ts'

const path = '/v1/capabilities/demo-text/operations/count'
const text = { name: 'text', required: true, type: 'string' }

test('what can be copied has all that the operation needs, where its method wants it', () => {
  const get = { method: 'GET', path, input_fields: [text], idempotency_key_required: false }
  expect(asCurl(get, 'https://api.example')).toBe(
    `curl -s "https://api.example${path}?text=hello" \\\n  -H "authorization: Bearer $FAREBOX_API_KEY"`,
  )
  const words = { name: 'words', required: false, type: 'integer', default: 10 }
  const style = { name: 'style', required: true, enum: ["don't", 'do'] }
  const left = { name: 'left_out', required: false, type: 'string' }
  const post = { method: 'POST', path, input_fields: [words, style, left], idempotency_key_required: true }
  expect(asCurl(post, 'https://api.example')).toBe(
    [
      `curl -s "https://api.example${path}"`,
      '-H "authorization: Bearer $FAREBOX_API_KEY"',
      '-H "idempotency-key: $(uuidgen)"',
      `-H 'content-type: application/json'`,
      `-d '{"words":10,"style":"don'\\''t"}'`,
    ].join(' \\\n  '),
  )
})
