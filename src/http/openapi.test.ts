import { readFile } from 'node:fs/promises'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { Type } from 'typebox'
import { expect, test } from 'vitest'
import { catalogue } from '../kernel/errors.ts'
import { Closed, Empty, IdParameter, Micro, Nullable, PageQuery, Time } from './fields.ts'
import { openApi } from './openapi.ts'
import { lint } from './openapi-lint.fixture.ts'
import { type Route, route } from './route.ts'

const item = Type.Object({ id: IdParameter(), spent: Micro(), at: Nullable(Time()) }, { $id: 'Item' })
const handle = () => ({})
const routes: Route[] = [
  route({
    method: 'GET',
    path: '/v1/items/:id',
    summary: 'One item',
    tag: 'items',
    access: 'any',
    params: Closed({ id: IdParameter() }),
    query: Closed(PageQuery),
    replies: { 200: item },
    refuses: ['call_not_found'],
    handle,
  }),
  route({
    method: 'POST',
    path: '/v1/items/:id',
    summary: 'Change it',
    description: 'At once.',
    tag: 'items',
    access: 'session',
    extension: true,
    body: Closed({ item: Type.Optional(item), name: Type.String() }),
    replies: { 200: Closed({ data: Type.Array(item) }), 402: Empty },
    refuses: ['idempotency_conflict', 'insufficient_credits'],
    handle,
  }),
  route({
    method: 'GET',
    path: '/page',
    summary: 'A page',
    tag: 'documents',
    access: 'public',
    replies: { 200: { description: 'HTML', contentType: 'text/html' } },
    refuses: [],
    handle,
  }),
]
type Operation = {
  parameters?: Array<{ name: string; in: string; required: boolean }>
  responses: Record<
    string,
    { 'x-error-codes'?: string[]; content: Record<string, { schema: Record<string, unknown> }> }
  >
  [member: string]: unknown
}
const document = openApi(routes, { version: '1.2.3' })
const paths = document.paths as Record<string, Record<string, Operation>>
const read = paths['/v1/items/{id}']?.get
const change = paths['/v1/items/{id}']?.post

test('the document of any routes passes the lint', () => {
  expect(lint(document)).toEqual([])
})

test('the lint finds a broken reference, a doubled operation and a schema that is none', () => {
  const broken = structuredClone(document) as { paths: Record<string, Record<string, Operation>> }
  const operation = broken.paths['/page']?.get
  if (!operation) throw new Error('the page is missing')
  operation.operationId = 'getItemsById'
  operation.responses['200'] = {
    content: {
      'a/b': { schema: { $ref: '#/components/schemas/Nothing' } },
      'c/d': { schema: { type: 'text' } },
    },
  }
  const found = lint(broken).join('\n')
  expect(found).toMatch(/#\/components\/schemas\/Nothing/)
  expect(found).toMatch(/getItemsById is the name of two operations/)
  expect(found).toMatch(/no JSON Schema/)
})

test('parameters come from path and query with their types, and the path ones are required', () => {
  expect(read?.parameters).toMatchObject([
    { name: 'id', in: 'path', required: true, schema: { type: 'integer', minimum: 1 } },
    { name: 'page', in: 'query', required: false },
    { name: 'per_page', in: 'query', required: false, schema: { maximum: 100, default: 20 } },
  ])
})

test('a path parameter without a schema is still declared', () => {
  expect(change?.parameters).toMatchObject([
    { name: 'id', in: 'path', required: true, schema: { type: 'string' } },
    { name: 'Idempotency-Key', in: 'header', required: false },
  ])
})

test('an operation lists exactly the codes it can answer with, by status', () => {
  expect(read?.responses['404']?.['x-error-codes']).toEqual(['call_not_found'])
  expect(read?.responses['401']?.['x-error-codes']).toEqual(['unauthorized'])
  expect(change?.responses['403']?.['x-error-codes']).toContain('access_token_required')
  expect(read?.responses['403']?.['x-error-codes']).not.toContain('access_token_required')
  const listed = Object.values(paths).flatMap((path) =>
    Object.values(path).flatMap(({ responses }) =>
      Object.entries(responses).flatMap(([status, reply]) =>
        (reply['x-error-codes'] ?? []).map((code) => [status, code] as const),
      ),
    ),
  )
  for (const [status, code] of listed) expect(String(catalogue[code as keyof typeof catalogue].status)).toBe(status)
})

test('a declared answer and a refusal of one status stand side by side', () => {
  expect(change?.responses['402']?.content['application/json']?.schema.anyOf).toHaveLength(2)
})

test('who may call is said by the security of each operation', () => {
  expect(read?.security).toEqual([{ apiKey: [] }, { accessToken: [] }])
  expect(change?.security).toEqual([{ accessToken: [] }])
  expect(paths['/page']?.get?.security).toEqual([])
})

test('a schema with an id is a component that every use refers to', () => {
  const { schemas } = document.components as { schemas: Record<string, unknown> }
  expect(Object.keys(schemas)).toEqual(['Error', 'Item'])
  expect(read?.responses['200']?.content['application/json']?.schema).toEqual({
    $ref: '#/components/schemas/Item',
  })
  expect(change?.['x-extension']).toBe(true)
  expect(read).not.toHaveProperty('x-extension')
})

test('the error schema takes the documented body and refuses an unknown code', () => {
  const { schemas } = document.components as { schemas: Record<string, object> }
  const ajv = new Ajv2020({ strict: false })
  addFormats.default(ajv)
  const validate = ajv.compile(schemas.Error ?? {})
  const body = {
    error: 'not_found',
    message: 'm',
    type: 'not_found_error',
    code: 'not_found',
    request_id: 'req_1',
  }
  expect(validate(body)).toBe(true)
  expect(validate({ ...body, code: 'unheard_of' })).toBe(false)
})

test('operations are named by method and path, and two of one name are refused', () => {
  const named = Object.values(paths).flatMap((path) => Object.values(path).map(({ operationId }) => operationId))
  expect(named).toEqual(['getItemsById', 'postItemsById', 'getPage'])
  expect(() => openApi([...routes, ...routes], { version: '1' })).toThrow(/two routes/)
})

test('every example of a body is one that its operation takes', async () => {
  const { paths, components } = JSON.parse(await readFile(new URL('../../openapi.json', import.meta.url), 'utf8'))
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  const shown = Object.entries<Record<string, { requestBody?: { content: Record<string, Media> } }>>(paths).flatMap(
    ([path, { post }]) => {
      const json = post?.requestBody?.content['application/json']
      return json?.example ? [{ path, ...json }] : []
    },
  )
  expect(shown.length).toBeGreaterThan(10)
  for (const { path, schema, example } of shown) {
    const takes = ajv.compile({ ...schema, components })
    expect([path, takes(example), takes.errors]).toEqual([path, true, null])
  }
})

interface Media {
  readonly schema: object
  readonly example?: object
}
