import { afterAll, describe, expect, test } from 'vitest'
import { lint } from '../http/openapi-lint.fixture.ts'
import type { Route } from '../http/route.ts'
import { createServer } from '../http/server.ts'
import { catalogue, Fault } from '../kernel/errors.ts'
import { systemRandom } from '../kernel/random.ts'
import { docsRoutes } from './routes.ts'

const faults: unknown[] = []
const refuseAll = async () => {
  throw new Fault('unauthorized')
}
const routes: Route[] = docsRoutes({ routes: () => routes, version: '1.2.3' })
const server = createServer({
  routes,
  authenticator: { authenticate: refuseAll, recognise: refuseAll },
  random: systemRandom,
  bodyLimit: 1024,
  trustedProxies: [],
  onAnswered: () => undefined,
  onFault: (_requestId, error) => faults.push(error),
})
const get = (url: string, headers: Record<string, string> = {}) => server.inject({ url, headers })
afterAll(() => server.close())

describe('the documents', () => {
  test('describe exactly the routes that are served, in a sound document', async () => {
    const answer = await get('/openapi.json')
    expect(answer.statusCode).toBe(200)
    const document = answer.json() as { info: { version: string }; paths: Record<string, object> }
    expect(lint(document)).toEqual([])
    expect(document.info.version).toBe('1.2.3')
    const described = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    )
    expect(described.sort()).toEqual(
      routes.map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`).sort(),
    )
  })

  test('are sent again only when they changed', async () => {
    const first = await get('/openapi.json')
    const again = await get('/openapi.json', { 'if-none-match': String(first.headers.etag) })
    expect([again.statusCode, again.body]).toEqual([304, ''])
    expect((await get('/openapi.json', { 'if-none-match': '"other"' })).statusCode).toBe(200)
  })

  test('load nothing but files of this server, which are all there', async () => {
    for (const url of ['/docs', '/errors', '/errors/unauthorized']) {
      const answer = await get(url)
      expect(answer.headers['content-type']).toBe('text/html; charset=utf-8')
      expect(answer.headers['content-security-policy']).toMatch(/^default-src 'self'; /)
      const linked = [...answer.body.matchAll(/(?:src|href)="([^"]+)"/g)].map(
        ([, link]) => new URL(link as string, `http://farebox.test${url}`),
      )
      expect(linked.length).toBeGreaterThan(1)
      for (const link of linked) {
        expect(link.host).toBe('farebox.test')
        expect([link.pathname, (await get(link.pathname)).statusCode]).toEqual([link.pathname, 200])
      }
      expect(answer.body).not.toMatch(/<script>|<style>| style=| on\w+=/)
    }
  })

  test('serve scripts and styles with their types, and no other file', async () => {
    expect((await get('/docs/swagger-ui-bundle.js')).headers['content-type']).toMatch(/javascript/)
    expect((await get('/docs/swagger-ui.css')).headers['content-type']).toMatch(/css/)
    expect((await get('/docs/start.js')).body).toContain('validatorUrl: null')
    for (const name of ['package.json', '..%2f..%2fpackage.json', 'constructor', '__proto__']) {
      expect((await get(`/docs/${name}`)).statusCode).toBe(404)
    }
  })

  test('have a page with cause and fix for every error, and none for others', async () => {
    for (const code of Object.keys(catalogue)) {
      const answer = await get(`/errors/${code}`)
      expect(answer.statusCode).toBe(200)
      expect(answer.body).toContain('What to do')
    }
    expect((await get('/errors/unheard_of')).json()).toMatchObject({ code: 'not_found' })
    expect((await get('/errors/toString')).statusCode).toBe(404)
    expect(faults).toEqual([])
  })
})
