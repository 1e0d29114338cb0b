import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { environmentTable, type RawEnvironment, readEnvironment } from './environment.ts'

const noFiles = () => undefined
const read = (raw: RawEnvironment, files: Record<string, string> = {}) => readEnvironment(raw, (path) => files[path])
const hex = 'ab'.repeat(32)

describe('readEnvironment', () => {
  test('an empty environment gives every row its fallback and no problem', () => {
    const { environment, problems } = read({})
    expect(problems).toEqual([])
    expect(environment).toEqual(
      Object.fromEntries(Object.entries(environmentTable).map(([name, row]) => [name, row.fallback])),
    )
    expect([environment.PORT, environment.FAREBOX_DATA, environment.FAREBOX_DRAIN_MS]).toEqual([8787, '.data', 25_000])
  })

  test('an empty value counts as not set', () => {
    expect(read({ PORT: '', FAREBOX_DRAIN_MS: '', DATABASE_URL_FILE: '' })).toEqual(read({}))
  })

  test('values are parsed into their types', () => {
    const { environment, problems } = read({
      PORT: '0',
      FAREBOX_PUBLIC_URL: 'https://api.example.com/farebox/',
      FAREBOX_TRUSTED_PROXIES: '10.0.0.0/8, ::1, fd00::/8',
      FAREBOX_KEY_PEPPER: hex,
      FAREBOX_METRICS_PORT: '9090',
    })
    expect(problems).toEqual([])
    expect(environment.PORT).toBe(0)
    expect(environment.FAREBOX_PUBLIC_URL).toBe('https://api.example.com/farebox')
    expect(environment.FAREBOX_TRUSTED_PROXIES).toEqual(['10.0.0.0/8', '::1', 'fd00::/8'])
    expect(environment.FAREBOX_KEY_PEPPER).toEqual(Buffer.from(hex, 'hex'))
    expect(environment.FAREBOX_METRICS_PORT).toBe(9090)
  })

  test.each([
    ['PORT', '80a'],
    ['PORT', '65536'],
    ['PORT', '-1'],
    ['PORT', '1e3'],
    ['FAREBOX_METRICS_PORT', '0'],
    ['LOG_LEVEL', 'verbose'],
    ['NODE_ENV', 'live'],
    ['HOST', 'a\nb'],
    ['DATABASE_URL', 'mysql://localhost/x'],
    ['FAREBOX_PUBLIC_URL', 'ftp://example.com'],
    ['FAREBOX_PUBLIC_URL', 'https://user:password@example.com'],
    ['FAREBOX_PUBLIC_URL', 'https://example.com/?key=1'],
    ['FAREBOX_TRUSTED_PROXIES', '10.0.0.0/33'],
    ['FAREBOX_TRUSTED_PROXIES', '10.0.0.0/8,,::1'],
    ['FAREBOX_TRUSTED_PROXIES', 'proxy.local'],
    ['FAREBOX_PROCESS_NAME', 'a b'],
    ['FAREBOX_KEY_PEPPER', 'ab'.repeat(31)],
    ['FAREBOX_KEY_PEPPER', 'ab'.repeat(24)],
    ['FAREBOX_KEY_PEPPER', 'not base64!'.repeat(9)],
    ['FAREBOX_KEY_PEPPER', `${hex}a`],
  ])('%s=%j is refused by name, with what it takes and without the value', (name, value) => {
    const { problems } = read({ [name]: value })
    expect(problems).toMatchObject([{ where: name, fix: expect.stringMatching(/^It takes .+\.$/) }])
    expect(JSON.stringify(problems)).not.toContain(value)
  })

  test('all problems are told at once', () => {
    expect(read({ PORT: 'x', LOG_LEVEL: 'x', FAREBOX_NOPE: '1' }).problems).toHaveLength(3)
  })

  test('a pepper may be hex, base64 or base64url of at least 32 bytes', () => {
    const bytes = Buffer.from(Array.from({ length: 32 }, (_, index) => 255 - index))
    for (const encoding of ['hex', 'base64', 'base64url'] as const) {
      expect(read({ FAREBOX_KEY_PEPPER: bytes.toString(encoding) }).environment.FAREBOX_KEY_PEPPER).toEqual(bytes)
    }
  })

  test.each([
    ['FAREBOX_PRT', 'PORT'],
    ['FAREBOX_PORT', 'PORT'],
    ['FAREBOX_DATABASE_URL', 'DATABASE_URL'],
    ['FAREBOX_DRAIN', 'FAREBOX_DRAIN_MS'],
    ['FAREBOX_CONFG', 'FAREBOX_CONFIG'],
    ['FAREBOX_KEY_PEPER_FILE', 'FAREBOX_KEY_PEPPER_FILE'],
    ['FAREBOX_TRUSTED_PROXY', 'FAREBOX_TRUSTED_PROXIES'],
  ])('%s is refused, asking for %s', (name, meant) => {
    expect(read({ [name]: '1' }).problems).toMatchObject([{ where: name, fix: `Did you mean \`${meant}\`?` }])
  })

  test('no variable that begins with FAREBOX_ passes unless the table has it', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[A-Z_]{1,20}$/), (rest) => {
        const name = `FAREBOX_${rest}`
        fc.pre(!(name in environmentTable) && !/^FAREBOX_KEY_PEPPER_FILE$/.test(name))
        return read({ [name]: 'x' }).problems.some(({ where }) => where === name)
      }),
    )
  })

  test('variables of other programs are left alone', () => {
    expect(read({ PATH: '/bin', HOME: '/root', OPENAI_API_KEY: 'x' }).problems).toEqual([])
  })
})

describe('a secret', () => {
  test('is read from the file that <NAME>_FILE names, without its last line break', () => {
    const files = { '/run/secrets/db': 'postgres://user:password@db/farebox\n' }
    const { environment, problems } = read({ DATABASE_URL_FILE: '/run/secrets/db' }, files)
    expect(problems).toEqual([])
    expect(environment.DATABASE_URL).toBe('postgres://user:password@db/farebox')
  })

  test('is refused when it is set twice, when its file is missing, empty or unreadable', () => {
    const where = 'DATABASE_URL_FILE'
    expect(
      read({ DATABASE_URL: 'postgres://a/b', DATABASE_URL_FILE: '/f' }, { '/f': 'postgres://a/b' }).problems,
    ).toMatchObject([{ where }])
    expect(read({ DATABASE_URL_FILE: '/f' }).problems).toMatchObject([{ where, problem: '/f does not exist.' }])
    expect(read({ DATABASE_URL_FILE: '/f' }, { '/f': '\n' }).problems).toMatchObject([
      { where, problem: '/f is empty.' },
    ])
    const refused = () => {
      throw Object.assign(new Error('the content'), { code: 'EACCES' })
    }
    expect(readEnvironment({ DATABASE_URL_FILE: '/f' }, refused).problems).toMatchObject([
      { where, problem: '/f cannot be read (EACCES).' },
    ])
  })

  test('has a file form, and what is no secret has none', () => {
    for (const [name, row] of Object.entries(environmentTable)) {
      const { problems } = readEnvironment({ [`${name}_FILE`]: '/f' }, noFiles)
      expect(problems.length > 0).toBe(row.secret || name.startsWith('FAREBOX_'))
    }
  })
})
