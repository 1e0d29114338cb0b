import { expect, test } from 'vitest'
import { loadConfig } from './config.ts'
import { shipped } from './shipped.fixture.ts'

const SERVICE = `
  studio:
    kind: task-api
    base_url: https://studio.example.com/v1/
    api_key_env: STUDIO_KEY
    auth_header: X-Key
    auth_scheme: ""
    submit: { path: /jobs, body: '{"prompt": "{{input.prompt}}"}', id: /id }
    poll:
      path: "/jobs/{{job_id}}"
      state: /state
      states: { queuing: [waiting, 0], succeeded: [done] }
      files: /files
    callback: { id: /id, signature: { secret_env: STUDIO_SECRET, header: X-Signature, state: /event } }
`

const loaded = (
  service: string,
  environment: Record<string, string> = { STUDIO_KEY: 'planted-1', STUDIO_SECRET: 'planted-2' },
) =>
  loadConfig({
    environment,
    readFile: (path) =>
      path === 'farebox.yaml' ? shipped().replace(/^providers:\n/m, `providers:${service}`) : undefined,
    now: new Date('2026-11-01'),
    mode: 'development',
  })

test('a described service is read with its defaults, and its secrets apart', () => {
  const { config, secrets } = loaded(SERVICE.replace('[waiting, 0]', '[waiting]'))
  const { studio } = config.providers
  expect(studio).toMatchObject({
    baseUrl: 'https://studio.example.com/v1',
    auth: { header: 'x-key', scheme: '' },
    failuresBilled: undefined,
    poll: { everyMs: 2000, progressFull: 100, states: { waiting: 'queuing', done: 'succeeded' } },
    callback: { signature: { header: 'x-signature', encoding: 'hex', content: '{{body}}' } },
  })
  // of a callback the files are only read where it says where they are
  expect(studio).toMatchObject({ callback: { signature: { reading: { state: '/event' } } } })
  expect(studio).not.toMatchObject({ callback: { signature: { reading: { files: '/files' } } } })
  expect(secrets.providerKeys.studio).toBe('planted-1')
  expect(secrets.callbackSecrets.studio).toBe('planted-2')
})

test.each([
  ['a body that is no JSON', SERVICE.replace(`'{"prompt"`, `'{prompt`), /template is not a JSON object/],
  ['a body that is a list', SERVICE.replace(/body: '[^']*'/, `body: '[]'`), /template is not a JSON object/],
  ['a word for a state that is no text', SERVICE, /It takes a text/],
  ['a pointer that is none', SERVICE.replace('state: /state', 'state: state'), /cannot be used/],
  ['a path that is none', SERVICE.replace('path: /jobs', 'path: jobs'), /cannot be used/],
  [
    'a key in a header',
    SERVICE.replace('auth_header', 'headers: { x-api-key: k }\n    auth_header'),
    /cannot be set here/,
  ],
])('%s is refused with its place', (_what, service, message) => {
  const right = service === SERVICE ? service : service.replace('[waiting, 0]', '[waiting]')
  expect(() => loaded(right)).toThrow(message)
  expect(() => loaded(right)).toThrow(/farebox\.yaml:\d+/)
  expect(() => loaded(right)).not.toThrow(/planted/)
})

test('secrets that are not set, and a chat model of such a service, are refused', () => {
  const service = SERVICE.replace('[waiting, 0]', '[waiting]')
  expect(() => loaded(service, {})).toThrow(/`STUDIO_KEY` is not set[\s\S]*`STUDIO_SECRET` is not set/)
  const chat = `${service}`.replace('  studio:', '  demo2:')
  const yaml = shipped()
    .replace(/^providers:\n/m, `providers:${chat}`)
    .replace('- provider: demo #', '- provider: demo2 #')
  const load = () =>
    loadConfig({
      environment: { STUDIO_KEY: 'planted-1', STUDIO_SECRET: 'planted-2' },
      readFile: (path) => (path === 'farebox.yaml' ? yaml : undefined),
      now: new Date('2026-11-01'),
      mode: 'development',
    })
  expect(load).toThrow(/makes pictures and films, and cannot chat/)
})
