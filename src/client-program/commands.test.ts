import { execFile } from 'node:child_process'
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { generatePrivateKey } from 'viem/accounts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type DevelopmentServer, startDevelopmentServer } from '../../sdk/src/development-server.fixture.ts'
import { type ClientRunOptions, openClientTerminal } from '../../test/client-terminal.ts'
import { ledgerFixture } from '../../test/ledger-fixture.ts'

let server: DevelopmentServer
let agent: ReturnType<typeof openClientTerminal>
let owner: ReturnType<typeof openClientTerminal>
/** The access token of the owner's browser. */
let browserToken: string
const ESCAPE = '\u001b'
const STRANGER_KEY = generatePrivateKey()

beforeAll(async () => {
  server = await startDevelopmentServer()
  agent = openClientTerminal(server.url)
  owner = openClientTerminal(server.url)
  write(agent.home, 'agent.key', server.development.agent.private_key)
  write(agent.home, 'stranger.key', STRANGER_KEY)
  const { refresh_token } = JSON.parse(JSON.stringify(server.development.owner)) as Record<string, string>
  browserToken = (await post('/v1/auth/refresh', { refresh_token })).tokens.access_token
})

afterAll(async () => {
  agent?.close()
  owner?.close()
  await server?.stop()
})

/** Asks the server as a page does. */
async function post(path: string, body: object, token?: string) {
  const headers = { 'content-type': 'application/json', ...(token ? { authorization: `Bearer ${token}` } : {}) }
  const response = await fetch(server.url + path, { method: 'POST', headers, body: JSON.stringify(body) })
  return (await response.json()) as { tokens: { access_token: string } }
}

/** A person who reads the code of a login and decides it in the console. */
const deciding =
  (decision: 'approve' | 'deny') =>
  (said: string): void => {
    const code = /[B-Z]{4}-[B-Z]{4}/.exec(said)?.[0]
    if (code) void post(`/v1/auth/device/${code}/${decision}`, {}, browserToken)
  }

const write = (folder: string, name: string, text: string): void =>
  writeFileSync(join(folder, name), `${text}\n`, { mode: 0o600 })

/** Every command once, in an order in which each finds what it needs. `#name` stands for the id of something made before. */
const journey: ReadonlyArray<readonly [who: 'agent' | 'owner', typed: string]> = [
  ['agent', 'balance'],
  ['agent', 'login --private-key-file ~/agent.key'],
  ['agent', 'whoami'],
  ['agent', 'models'],
  ['agent', 'chat hello there'],
  ['agent', 'chat hello --model demo-unmetered --max-tokens 64 --system brief'],
  ['agent', 'image a lighthouse --model demo-image --out ~/#form.png'],
  ['agent', 'image a lighthouse --out ~/#form.png'],
  ['agent', 'topup 2.5 --private-key-file ~/agent.key'],
  ['agent', 'topup 2.5 --private-key-file ~/agent.key --yes'],
  ['agent', 'topup --resume'],
  ['agent', 'balance'],
  ['agent', 'orders'],
  ['agent', 'orders show #order'],
  ['agent', 'orders show #order --wait'],
  ['agent', 'keys create --name ci --daily 5 --expires 2099-01-01'],
  ['agent', 'keys'],
  ['agent', 'keys revoke #key'],
  ['agent', 'keys revoke #key --yes'],
  ['agent', 'calls --limit 2'],
  ['agent', 'calls --status failed'],
  ['agent', 'calls show #failed'],
  ['agent', 'usage --by model'],
  ['agent', 'refunds'],
  ['agent', 'refunds apply #failed --reason nothing-came'],
  ['agent', 'refunds list'],
  ['agent', 'settlements'],
  ['agent', 'settlements authorize #request'],
  ['agent', 'settlements authorize #request --yes'],
  ['agent', 'topup 200 --private-key-file ~/agent.key --yes'],
  ['agent', 'settlements authorize #request --yes'],
  ['agent', 'settlements --state all'],
  ['agent', 'agents'],
  ['agent', 'logout'],
  ['agent', 'logout'],
  ['owner', 'login'],
  ['owner', 'login # and is refused'],
  ['owner', 'whoami'],
  ['owner', 'agents'],
  ['owner', 'agents link #wallet --label scraper --billing-mode owner_only --daily 1 --per-call 0.5'],
  ['owner', 'agents pause #agent'],
  ['owner', 'agents resume #agent'],
  ['owner', 'agents unlink #agent'],
  ['owner', 'agents unlink #agent --yes'],
]

/** Runs the journey and gives what was seen, in one text. */
async function travelled(form: 'terminal' | 'pipe'): Promise<string> {
  const { database, development } = server
  const ledger = ledgerFixture(database)
  const caller = await ledger.key(BigInt(development.agent.account_id))
  const failed = await ledger.hold(caller, 100n)
  await ledger.capture(failed.id, 60n, { outcome: 'failed' })
  const dear = await ledger.hold(caller, 100n)
  // dearer than all that the Agent has, until it tops up
  await ledger.capture(dear.id, form === 'terminal' ? 150_000_000n : 250_000_000n)
  const newest = async (of: string): Promise<string> => {
    const { rows } = await database.pool.query(`select id from ${of} order by created_at desc, id desc limit 1`)
    return String(rows[0]?.id)
  }
  const stranger =
    form === 'terminal' ? '0x00000000000000000000000000000000000000a1' : '0x00000000000000000000000000000000000000a2'
  const names: Record<string, () => Promise<string> | string> = {
    form: () => form,
    order: () => newest(`orders where payer_account_id = ${Number(development.agent.account_id)}`),
    key: () => newest('api_keys'),
    agent: () => newest('accounts'),
    failed: () => String(failed.id),
    request: () => `req_${dear.id}`,
    wallet: () => stranger,
  }
  let seen = ''
  for (const [who, typed] of journey) {
    const terminal = who === 'agent' ? agent : owner
    let line = typed.replaceAll('~', terminal.home)
    for (const [name, id] of Object.entries(names))
      if (line.includes(`#${name}`)) line = line.replaceAll(`#${name}`, await id())
    // a person who is asked says no
    const options: ClientRunOptions = {
      terminal: form === 'terminal',
      input: 'n',
      ...(typed.startsWith('login') ? { hurried: true, watch: deciding(typed === 'login' ? 'approve' : 'deny') } : {}),
    }
    const { exitCode, out, err } = await terminal.run(line.replace(/ #.*/, '').split(' '), options)
    const said =
      out +
      err
        .replace(/^(waiting|queuing|generating.*|success)\n/gm, '')
        .replace(/^/gm, '! ')
        .replace(/! $/, '')
    seen += `$ farebox ${typed}\n${masked(said, terminal.home)}${said.endsWith('\n') || said === '' ? '' : '\n'}=> ${exitCode}\n\n`
  }
  return seen
}

/** What differs from run to run is replaced, and columns are joined by two spaces. */
const masked = (text: string, home: string): string =>
  text
    .replaceAll(home, '~')
    .replaceAll(server.url, '<server>')
    .replace(/[B-Z]{4}-[B-Z]{4}/g, '<code>')
    .replace(new RegExp(`(^! ${ESCAPE}.*\n)+`, 'gm'), '! <QR code>\n')
    .replace(/fbx_\w{4}…\w{4}/g, '<short key>')
    .replace(/fbx_\w+/g, '<secret>')
    .replace(/0x[0-9a-f]{64}/gi, '<transaction>')
    .replace(/0x[0-9a-f]{40}/gi, '<address>')
    .replace(/("id":)\d+/g, '$1<number>')
    .replace(/\b(req|task)_\w+/g, '<$1>')
    .replace(/chatcmpl-[\w-]+/g, '<chat>')
    .replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '<uuid>')
    .replace(/\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?Z/g, '<time>')
    .replace(/("(?!\w*_micro")\w+": )\d+/g, '$1<number>')
    .replace(/"(prefix|last4)": "\w+"/g, '"$1": "<key>"')
    .replace(/#\d+/g, '#<id>')
    .replace(/\b((?:Key|Agent|Refund|call|key|account)\s+)\d+/g, '$1<id>')
    .replace(/(apply )\d+/g, '$1<id>')
    .replace(/^ *\d+(?= {2})/gm, '<id>')
    .replace(/(<id> {2,})\d+(?= {2})/g, '$1<id>')
    .replace(/\d+ of \d+$/gm, '<number> of <number>')
    .replace(/(\S) {2,}/g, '$1  ')
    // how often a payment was looked at before it was deep enough is the chain's affair
    .replace(/^<time> {2}see .*\n/gm, '')
    .replace(/\s*\{\s*"event": "see"[^}]*\},/g, '')

test('each command at a terminal prints what the golden file says, for people', async () => {
  await expect(await travelled('terminal')).toMatchFileSnapshot('golden/terminal.txt')
})

test('each command in a pipe prints what the golden file says, as JSON, and asks nobody', async () => {
  await expect(await travelled('pipe')).toMatchFileSnapshot('golden/pipe.txt')
})

test('the picture that is saved is a whole one', async () => {
  const picture = readFileSync(join(agent.home, 'terminal.png'))
  expect(picture.subarray(1, 4).toString()).toBe('PNG')
})

test('exit codes: usage 2, login 3, Credits 4, conflict 5, review 6, unavailable 7', async () => {
  const { api_key } = server.development.agent
  const withKey = { environment: { FAREBOX_API_KEY: api_key } }
  const code = async (typed: string, options: ClientRunOptions = {}): Promise<number> =>
    (await agent.run(typed.replaceAll('~', agent.home).split(' '), options)).exitCode
  expect(await code('balance', withKey)).toBe(0)
  expect(await code('calls show 9007199254740991', withKey)).toBe(1)
  expect(await code('balance --nonsense')).toBe(2)
  expect(await code('chat', { input: '' })).toBe(2)
  expect(await code('login --with-api-key', { input: 'not a key' })).toBe(2)
  expect(await code('login --with-api-key --private-key-file ~/agent.key')).toBe(2)
  expect(await code('balance')).toBe(3)
  expect(await code('balance', { environment: { FAREBOX_API_KEY: 'fbx_wrong' } })).toBe(3)
  expect(await code('keys create', withKey)).toBe(3)
  expect(await code('login --private-key-file ~/stranger.key')).toBe(0)
  expect(await code('chat hello')).toBe(4)
  expect(await code('refunds apply 1 --reason none', withKey)).toBe(3)
  expect(
    await code('balance', { environment: { FAREBOX_BASE_URL: 'http://127.0.0.1:9', FAREBOX_API_KEY: api_key } }),
  ).toBe(7)
  expect(await code('image fail:unknown --model demo-image-failing', withKey)).toBe(6)
})

test('a payment whose end is unknown is kept, sent again by --resume, and never paid twice', async () => {
  const path = join(agent.home, '.config/farebox/credentials.json')
  const kept = JSON.parse(readFileSync(path, 'utf8')) as { payments: Record<string, unknown> }
  expect(kept.payments).toEqual({})
  const payments = { [server.url]: { amountMicro: '2500000', proof: btoa('{}') } }
  writeFileSync(path, JSON.stringify({ ...kept, payments }), { mode: 0o600 })
  const again = ['topup', '1', '--private-key-file', join(agent.home, 'agent.key'), '--yes']
  expect(await agent.run(again)).toMatchObject({ exitCode: 5, out: '' })
  // the server refuses this proof, so that no money can move by it: it is forgotten
  expect((await agent.run(['topup', '--resume'])).exitCode).not.toBe(0)
})

test('commands that run side by side with a session that is over all succeed', async () => {
  const path = join(owner.home, '.config/farebox/credentials.json')
  const kept = JSON.parse(readFileSync(path, 'utf8'))
  kept.servers[server.url].tokens.expiresAt = 0
  writeFileSync(path, JSON.stringify(kept), { mode: 0o600 })
  const runs = await Promise.all(Array.from({ length: 8 }, () => owner.run(['whoami'])))
  expect(runs.map(({ exitCode }) => exitCode)).toEqual(Array.from({ length: 8 }, () => 0))
})

test('a login in the place of another ends the session of before', async () => {
  const path = join(agent.home, '.config/farebox/credentials.json')
  const refreshToken = (): string =>
    JSON.parse(readFileSync(path, 'utf8')).servers[server.url].tokens.refreshToken as string
  const login = ['login', '--private-key-file', join(agent.home, 'stranger.key')]
  await agent.run(login)
  const before = refreshToken()
  await agent.run(login)
  expect(await post('/v1/auth/refresh', { refresh_token: before })).toMatchObject({ code: 'invalid_refresh_token' })
  expect(await agent.run(['whoami'])).toMatchObject({ exitCode: 0 })
})

test('a login is sent to no other server than its own', async () => {
  const { exitCode, err } = await owner.run(['whoami'], { environment: { FAREBOX_BASE_URL: 'http://127.0.0.1:9' } })
  expect([exitCode, err]).toEqual([3, expect.stringContaining('You are not logged in at http://127.0.0.1:9.')])
})

test('credentials are readable by their user alone, and refused once others can read them', async () => {
  const path = join(owner.home, '.config/farebox/credentials.json')
  expect(statSync(path).mode & 0o777).toBe(0o600)
  chmodSync(path, 0o644)
  const { exitCode, err } = await owner.run(['whoami'])
  chmodSync(path, 0o600)
  expect([exitCode, err]).toEqual([3, expect.stringContaining('chmod 600')])
})

test('the real program in a real pipe answers a prompt from standard input with JSON', async () => {
  const main = fileURLToPath(new URL('../main.ts', import.meta.url))
  const environment = {
    HOME: agent.home,
    FAREBOX_BASE_URL: server.url,
    FAREBOX_API_KEY: server.development.agent.api_key,
  }
  const out = await new Promise<string>((resolve, reject) => {
    const child = execFile(
      process.execPath,
      [main, 'chat', '--model', 'demo-chat'],
      { env: environment },
      (error, stdout) => (error ? reject(error) : resolve(stdout)),
    )
    child.stdin?.end('a prompt from a pipe\n')
  })
  expect(JSON.parse(out).choices[0].message.content).toContain('a prompt from a pipe')
})

test('no key, token or signature is ever printed, but a new key once', async () => {
  const { agent: development, owner: ownerOf } = server.development
  // in the wrong place, too
  await agent.run(['login', development.private_key])
  await agent.run(['login', '--private-key-file', development.private_key])
  await agent.run(['whoami', development.api_key])
  const said = agent.said() + owner.said()
  const secrets = [development.private_key, development.api_key, ownerOf.api_key, STRANGER_KEY].map((secret) =>
    secret.replace(/^0x/, ''),
  )
  expect(secrets.filter((secret) => said.includes(secret))).toEqual([])
  expect(said).not.toMatch(/eyJ[\w-]+\.[\w-]+\.|dvc_/)
  const keys = said.match(/fbx_\w{30,}/g) ?? []
  expect(keys.length).toBeGreaterThan(0)
  expect(new Set(keys).size).toBe(keys.length)
})
