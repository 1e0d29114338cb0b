import { gzipSync } from 'node:zlib'
import type { ErrorCode } from '../src/kernel/errors.ts'

/** A body that chat takes. */
export const VALID = JSON.stringify({ model: 'mock-model', messages: [{ role: 'user', content: 'x' }] })
const withField = (name: string, value: string): string => `${VALID.slice(0, -1)},${JSON.stringify(name)}:${value}}`
const withMessages = (value: string): string => `{"model":"mock-model","messages":${value}}`

/** Bodies that no endpoint with a chat body takes, and the codes that may answer them. */
export const BAD_CHAT: Record<string, [string, ErrorCode]> = {
  'no model': ['{"messages":[{"role":"user"}]}', 'missing_field'],
  'no messages': ['{"model":"mock-model"}', 'missing_field'],
  'an empty object': ['{}', 'missing_field'],
  'nothing at all': ['', 'missing_field'],
  'a model of the wrong type': ['{"model":1,"messages":[{"role":"user","content":"x"}]}', 'invalid_field'],
  'a model of null': ['{"model":null,"messages":[{"role":"user","content":"x"}]}', 'invalid_field'],
  'a model that is not here': ['{"model":"gpt-9","messages":[{"role":"user","content":"x"}]}', 'model_not_found'],
  'a model called __proto__': ['{"model":"__proto__","messages":[{"role":"user","content":"x"}]}', 'model_not_found'],
  'a model with lone surrogates': ['{"model":"\\ud800","messages":[{"role":"user","content":"x"}]}', 'model_not_found'],
  'a model with NUL': ['{"model":"mock-model\\u0000","messages":[{"role":"user","content":"x"}]}', 'model_not_found'],
  'a model of a megabyte': [
    `{"model":"${'m'.repeat(1_000_000)}","messages":[{"role":"user","content":"x"}]}`,
    'invalid_field',
  ],
  'messages of null': [withMessages('null'), 'invalid_field'],
  'messages as text': [withMessages('"x"'), 'invalid_field'],
  'no message': [withMessages('[]'), 'invalid_field'],
  'too many messages': [
    withMessages(`[${Array(10_001).fill('{"role":"user","content":"x"}').join()}]`),
    'invalid_field',
  ],
  'a message that is text': [withMessages('["x"]'), 'invalid_field'],
  'a message of null': [withMessages('[null]'), 'invalid_field'],
  'a message without role': [withMessages('[{"content":"x"}]'), 'missing_field'],
  'content that is a number': [withMessages('[{"role":"user","content":1}]'), 'invalid_field'],
  'content that is an object': [withMessages('[{"role":"user","content":{}}]'), 'invalid_field'],
  'parts of null': [withMessages('[{"role":"user","content":[null]}]'), 'invalid_field'],
  'parts without type': [withMessages('[{"role":"user","content":[{}]}]'), 'invalid_field'],
  'stream as text': [withField('stream', '"true"'), 'invalid_field'],
  'stream_options as a list': [withField('stream_options', '[]'), 'invalid_field'],
  'max_tokens of 0': [withField('max_tokens', '0'), 'invalid_field'],
  'max_tokens of -0': [withField('max_tokens', '-0'), 'invalid_field'],
  'max_tokens below 0': [withField('max_tokens', '-5'), 'invalid_field'],
  'max_tokens of 2^53': [withField('max_tokens', '9007199254740992'), 'invalid_field'],
  'max_tokens of 1e400': [withField('max_tokens', '1e400'), 'invalid_field'],
  'max_tokens of 1.5': [withField('max_tokens', '1.5'), 'invalid_field'],
  'max_tokens as text': [withField('max_tokens', '"5"'), 'invalid_field'],
  'max_completion_tokens as a list': [withField('max_completion_tokens', '[5]'), 'invalid_field'],
  'n of 0': [withField('n', '0'), 'invalid_field'],
  'n of 129': [withField('n', '129'), 'invalid_field'],
  'n of 1e400': [withField('n', '1e400'), 'invalid_field'],
  'the last of two models wrong': [withField('model', '5'), 'invalid_field'],
}

/** Bodies that are wrong before any endpoint looks at them, with their headers. */
export const UNREADABLE: Record<string, [string | Buffer, Record<string, string>, ErrorCode[]]> = {
  'an array': ['[]', {}, ['invalid_body']],
  text: ['"x"', {}, ['invalid_body']],
  'a number': ['5', {}, ['invalid_body']],
  true: ['true', {}, ['invalid_body']],
  'half an object': ['{"model":', {}, ['invalid_json']],
  'two objects': ['{}{}', {}, ['invalid_json']],
  'a trailing comma': ['{"a":1,}', {}, ['invalid_json']],
  'single quotes': [`{'a':1}`, {}, ['invalid_json']],
  NaN: ['{"a":NaN}', {}, ['invalid_json']],
  spaces: ['   ', {}, ['invalid_json']],
  'bytes that are no UTF-8': [Buffer.from([0xff, 0xfe, 0x00, 0x7b]), {}, ['invalid_json']],
  __proto__: ['{"__proto__":{"model":"x"}}', {}, ['invalid_json']],
  'constructor.prototype': ['{"constructor":{"prototype":{"a":1}}}', {}, ['invalid_json']],
  'a hundred thousand open brackets': ['['.repeat(100_000), {}, ['invalid_json']],
  'ten thousand levels': [`${'['.repeat(10_000)}${']'.repeat(10_000)}`, {}, ['invalid_body']],
  'gzip that is not announced': [gzipSync(VALID), {}, ['invalid_json']],
  'gzip that is announced': [
    gzipSync(VALID),
    { 'content-encoding': 'gzip' },
    ['invalid_json', 'unsupported_media_type'],
  ],
  'a form': ['a=b', { 'content-type': 'application/x-www-form-urlencoded' }, ['unsupported_media_type']],
  'plain text': [VALID, { 'content-type': 'text/plain' }, ['unsupported_media_type']],
  multipart: [
    '--x\r\n\r\n--x--',
    { 'content-type': 'multipart/form-data; boundary=x' },
    ['unsupported_media_type', 'invalid_body'],
  ],
  'no content type': [VALID, { 'content-type': '' }, ['unsupported_media_type']],
  'a broken content type': [VALID, { 'content-type': ';;;' }, ['unsupported_media_type']],
}
