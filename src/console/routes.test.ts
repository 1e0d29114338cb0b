import { expect, test } from 'vitest'
import { createServer } from '../http/server.ts'
import { Fault } from '../kernel/errors.ts'
import { systemRandom } from '../kernel/random.ts'
import { buildConsole } from './files.ts'
import { consoleRoutes } from './routes.ts'

const nobody = async (): Promise<never> => {
  throw new Fault('unauthorized')
}
const server = createServer({
  routes: consoleRoutes(),
  authenticator: { authenticate: nobody, recognise: nobody },
  random: systemRandom,
  bodyLimit: 1000,
  trustedProxies: [],
  onAnswered: () => undefined,
  onFault: () => undefined,
})

test('every address of the console gives its page, which may load nothing from elsewhere and runs no text as a script', async () => {
  await buildConsole()
  for (const url of ['/console', '/console/keys', '/console/orders/1', '/topup', '/topup/1']) {
    const { statusCode, headers, body } = await server.inject(url)
    expect([url, statusCode, headers['cache-control']]).toEqual([url, 200, 'no-store'])
    expect(headers['content-security-policy']).toContain("default-src 'self'; script-src 'self'; style-src 'self';")
    expect(headers['content-security-policy']).toContain("require-trusted-types-for 'script'")
    expect(body).not.toMatch(/https?:/)
  }
})

test('what a page loads is kept for ever, compressed on request, and anything else is not there', async () => {
  const { body } = await server.inject('/console')
  const [script = ''] = /\/console\/assets\/[^"]+\.js/.exec(body) ?? []
  const answer = await server.inject({ url: script, headers: { 'accept-encoding': 'gzip' } })
  expect(answer.statusCode).toBe(200)
  expect(answer.headers).toMatchObject({
    'cache-control': 'public, max-age=31536000, immutable',
    'content-encoding': 'gzip',
    'content-type': 'text/javascript; charset=utf-8',
  })
  const again = await server.inject({ url: script, headers: { 'if-none-match': String(answer.headers.etag) } })
  expect([again.statusCode, again.body]).toEqual([304, ''])
  for (const odd of [
    '/console/assets/..%2f..%2f..%2fpackage.json',
    '/console/assets/.sources',
    '/console/assets/none.js',
  ])
    expect([odd, (await server.inject(odd)).statusCode]).toEqual([odd, 404])
})
