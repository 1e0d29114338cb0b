import {
  Client,
  discoverOAuthProtectedResourceMetadata,
  extractWWWAuthenticateParams,
  type OAuthClientProvider,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../../test/app.ts'

let app: TestApp
beforeAll(async () => {
  app = await startTestApp()
})
afterAll(() => app.stop())

test('/mcp tells the official client what it takes, where that client looks: a Bearer in the header, and nobody to ask for one', async () => {
  const refused = await fetch(`${app.url}/mcp`, { method: 'POST', body: '{}' })
  const { resourceMetadataUrl } = extractWWWAuthenticateParams(refused)
  const told = { resource: `${app.url}/mcp`, bearer_methods_supported: ['header'] }
  for (const options of [resourceMetadataUrl ? { resourceMetadataUrl } : undefined, undefined]) {
    const metadata = await discoverOAuthProtectedResourceMetadata(`${app.url}/mcp`, options)
    expect(metadata).toMatchObject(told)
    expect(metadata).not.toHaveProperty('authorization_servers')
    expect((await fetch(String(metadata.resource_documentation))).status).toBe(200)
  }
  expect(await discoverOAuthProtectedResourceMetadata(app.url)).toMatchObject({ ...told, resource: app.url })
})

test('a client that would sign in by OAuth is sent to no server of ours', async () => {
  const asked: string[] = []
  let sentAway = false
  const provider: OAuthClientProvider = {
    redirectUrl: 'http://127.0.0.1/back',
    clientMetadata: { redirect_uris: ['http://127.0.0.1/back'], client_name: 'test' },
    clientInformation: () => undefined,
    saveClientInformation: () => undefined,
    tokens: () => undefined,
    saveTokens: () => undefined,
    redirectToAuthorization: () => {
      sentAway = true
    },
    saveCodeVerifier: () => undefined,
    codeVerifier: () => '',
  }
  const transport = new StreamableHTTPClientTransport(new URL(`${app.url}/mcp`), {
    authProvider: provider,
    fetch: async (url, init) => {
      const answer = await fetch(url, init)
      asked.push(`${answer.status} ${new URL(url).pathname}`)
      return answer
    },
  })
  await expect(new Client({ name: 'test', version: '1' }).connect(transport)).rejects.toThrow()
  expect(asked).toContain('200 /.well-known/oauth-protected-resource/mcp')
  expect(asked.filter((one) => one.startsWith('200'))).toHaveLength(1)
  expect(sentAway).toBe(false)
})
