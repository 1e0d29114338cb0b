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
const routes: Route[] = docsRoutes({
  routes: () => routes,
  version: '1.2.3',
  publicUrl: () => 'https://api.example.test',
})
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

/** What pages are written with: `<name>` in a document that forgot to mark it as code is none of these. */
const TAGS = [
  ...['html', 'head', 'meta', 'title', 'link', 'body', 'header', 'nav', 'main', 'script', 'noscript', 'div'],
  ...['h1', 'h2', 'h3', 'p', 'a', 'ul', 'ol', 'li', 'dl', 'dt', 'dd', 'code', 'pre', 'strong', 'em', 'img'],
  ...['table', 'thead', 'tbody', 'tr', 'th', 'td', 'blockquote'],
]

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
    const guides = [...(await get('/docs/guides')).body.matchAll(/<dt><a href="([^"]+)"/g)].map(
      ([, name]) => `/docs/${name}`,
    )
    expect(guides.length).toBeGreaterThan(10)
    for (const url of ['/docs', '/docs/guides', '/errors', '/errors/unauthorized', ...guides]) {
      const answer = await get(url)
      expect(answer.headers['content-type']).toBe('text/html; charset=utf-8')
      expect(answer.headers['content-security-policy']).toMatch(/^default-src 'self'; /)
      const linked = [...answer.body.matchAll(/(?:src|href)="([^"]+)"/g)].map(
        ([, link]) => new URL(link as string, `http://farebox.test${url}`),
      )
      expect(linked.length).toBeGreaterThan(1)
      // the console is another room's; anchors of text may lead anywhere, what a page loads may not
      for (const link of linked.filter(({ pathname, host }) => pathname !== '/console' && host === 'farebox.test')) {
        expect([link.pathname, (await get(link.pathname)).statusCode]).toEqual([link.pathname, 200])
      }
      expect(answer.body.replaceAll(/<(code|pre)[ >].*?<\/\1>/gs, '')).not.toMatch(/<script>|<style>| style=| on\w+=/)
      const tags = new Set([...answer.body.matchAll(/<([a-z]\w*)/g)].map(([, tag = '']) => tag))
      expect([...tags].filter((tag) => !TAGS.includes(tag))).toEqual([])
      for (const [, loaded = ''] of answer.body.matchAll(/(?:src|<link [^>]*href)="([^"]+)"/g))
        expect(new URL(loaded, `http://farebox.test${url}`).host).toBe('farebox.test')
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

  test('are guides as pages and as Markdown, both with the address of this server and links to what it shows', async () => {
    const page = await get('/docs/x402')
    expect(page.body).toContain('<h1 id="top-ups-by-x402-an-agent-pays-by-itself">')
    expect(page.body).toContain('https://api.example.test')
    expect(page.body).toContain('href="x402.md"')
    const twin = await get('/docs/agents-and-wallets.md')
    expect(twin.headers['content-type']).toBe('text/markdown; charset=utf-8')
    expect(twin.body).toContain('(https://api.example.test/docs/agent-sign-in.md)')
    // what only operators need is not shown, and no link leads there
    for (const name of ['x402', 'wallet-orders', 'media'])
      expect((await get(`/docs/${name}.md`)).body).not.toMatch(/For the operator|FAREBOX_R/)
    expect((await get('/docs/media.md')).body).toContain('# Images, videos and tasks')
    expect((await get('/docs/operator')).statusCode).toBe(404)
    expect((await get('/docs/owner-sign-in.md')).body).not.toContain('](operator.md)')
    for (const name of ['nothing.md', '..%2foperator.md', 'guides.md'])
      expect((await get(`/docs/${name}`)).statusCode).toBe(404)
    for (const name of ['nothing.png', '..%2f..%2fa.png'])
      expect((await get(`/docs/pictures/${name}`)).statusCode).toBe(404)
  })

  test('list themselves for programs: llms.txt, an API catalogue, and what crawlers keep away from', async () => {
    const llms = (await get('/llms.txt')).body
    expect(llms).toMatch(/^# Farebox\n\n> .*\n/)
    const links = [...llms.matchAll(/^- \[[^\]]+\]\(https:\/\/api\.example\.test([^)]+)\)(: .+)?$/gm)]
    expect(links.length).toBe(llms.match(/^- /gm)?.length)
    const catalog = await get('/.well-known/api-catalog')
    expect(catalog.headers['content-type']).toContain('application/linkset+json')
    const { linkset } = catalog.json() as { linkset: Array<Record<string, Array<{ href: string }>>> }
    const hrefs = linkset.flatMap(({ anchor: _, ...links }) =>
      Object.values(links).flatMap((many) => many.map(({ href }) => href)),
    )
    const others = ['/.well-known/x402', '/readyz']
    for (const path of [...links.map(([, path = '']) => path), ...hrefs.map((href) => new URL(href).pathname)])
      if (!others.includes(path)) expect([path, (await get(path)).statusCode]).toEqual([path, 200])
    expect((await get('/')).headers.location).toBe('docs/guides')
    expect((await get('/robots.txt')).body).toBe('User-agent: *\nDisallow: /v1/payments/topup\n')
  })

  test('have a page with cause and fix for every error, and none for others', async () => {
    for (const code of Object.keys(catalogue)) {
      const answer = await get(`/errors/${code}`)
      expect(answer.statusCode).toBe(200)
      expect(answer.body).toContain('What to do')
      expect((await get(`/errors/${code}.md`)).body).toContain('**What to do:** ')
      expect((await get(`/errors/${code}.json`)).json()).toMatchObject({ code, fix: expect.any(String) })
    }
    expect((await get('/errors/unheard_of')).json()).toMatchObject({ code: 'not_found' })
    expect((await get('/errors/toString')).statusCode).toBe(404)
    expect(faults).toEqual([])
  })
})
