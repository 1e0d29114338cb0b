import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../test/database.ts'
import { ledgerFixture } from '../../test/ledger-fixture.ts'
import { live, steps } from '../billing/usage/histories.fixture.ts'
import { exitCodes } from '../terminal/exit-codes.ts'
import { ExportCheck } from './export-check.ts'
import { withCheck } from './export-format.ts'
import { exportLedger } from './export-ledger.ts'
import { openTerminal } from './terminal.fixture.ts'

/** Long enough for two blocks and for an account of several pages. */
const HISTORIES = 30

let database: TestDatabase
let terminal: ReturnType<typeof openTerminal>
let range: readonly string[]
beforeAll(async () => {
  database = await freshDatabase()
  terminal = openTerminal({ DATABASE_URL: database.url })
  const histories =
    fc.sample(fc.array(steps, { minLength: HISTORIES, maxLength: HISTORIES }), { numRuns: 1, seed: 7 })[0] ?? []
  let [start, end] = [Number.POSITIVE_INFINITY, 0]
  for (const [nth, history] of histories.entries()) {
    const lived = await live(database, nth, history)
    start = Math.min(start, lived.start)
    end = Math.max(end, lived.end)
  }
  // one account with more movements than are read at once with others
  const make = ledgerFixture(database)
  await database.sql(
    `select setval('accounts_id_seq', 100000), setval('api_keys_id_seq', 100000), setval('hold_ids', 9000000000)`,
  )
  const id = await make.account('owner')
  const key = await make.key(id)
  await make.grant(id, 1_000_000n, { sourceId: 'a "quoted"\u2028 source' })
  for (let n = 0; n < 60; n++) await make.capture((await make.hold(key, 10n)).id, 3n)
  await database.sql('alter table transfers disable trigger append_only')
  await database.sql('update transfers set moved_at = $2 where account_id = $1', [id, new Date(end)])
  await database.sql('alter table transfers enable trigger append_only')
  range = ['--from', new Date(start).toISOString(), '--to', new Date(end + 1000).toISOString()]
})
afterAll(async () => {
  terminal.close()
  await database.drop()
})

const file = (name: string) => join(terminal.folder, name)

async function exported(name: string, of: readonly string[] = range): Promise<string> {
  const { exitCode, err } = await terminal.run(['export', 'ledger', ...of, '--out', file(name)])
  expect([exitCode, err.replace(/^… .*\n/gm, '')]).toEqual([exitCodes.ok, ''])
  return readFileSync(file(name), 'utf8')
}

const linesOf = (text: string) => text.trimEnd().split('\n')
const flawsOf = (lines: readonly string[]) => {
  const check = new ExportCheck()
  for (const line of lines) check.line(line)
  check.finish()
  return check.flaws
}

test('the same range gives the same bytes, to a file and to standard output, and both verify', async () => {
  const first = await exported('first.jsonl')
  const again = await terminal.run(['export', 'ledger', ...range])
  expect(again.out).toBe(first)
  const verified = await terminal.run(['verify', file('first.jsonl'), '--json'])
  expect(verified.exitCode).toBe(exitCodes.ok)
  expect(verified.json()).toMatchObject({ ok: true, flaws: [], hash: expect.stringMatching(/^[0-9a-f]{64}$/) })
  expect(again.err).toContain(verified.json<{ hash: string }>().hash)
})

test('an export has every movement of the ledger, and its totals are the ledger’s', async () => {
  const lines = linesOf(await exported('whole.jsonl')).map((line) => JSON.parse(line))
  const ids = lines.filter(({ line }) => line === 'movement').map(({ id }) => Number(id))
  const rows = await database.sql<{ id: string }>('select id from transfers order by account_id, id')
  expect(ids).toEqual(rows.map(({ id }) => Number(id)))
  expect(lines.filter(({ line }) => line === 'block').length).toBeGreaterThan(0)
  const end = lines.at(-1)
  const [owned] = await database.sql<{ total: string }>('select sum(posted_micro) as total from buckets')
  expect(end).toMatchObject({ opening_micro: '0', closing_micro: owned?.total })
  const sides = await database.sql<{ name: string; total: string }>(
    `select s.name, sum(case when t.credit_id = s.id then t.amount_micro else -t.amount_micro end) as total
     from system_accounts s join transfers t on s.id in (t.debit_id, t.credit_id) group by s.name`,
  )
  expect(end.system_accounts).toEqual(Object.fromEntries(sides.map(({ name, total }) => [name, total])))
  const kinds = lines.filter(({ line }) => line === 'movement').map(({ kind }) => kind)
  expect(new Set(kinds)).toEqual(new Set(['grant', 'capture', 'refund', 'expiry', 'reversal']))
})

test('two exports of adjacent ranges are the movements of one, each opening with what the other closed', async () => {
  const whole = linesOf(await exported('whole.jsonl')).map((line) => JSON.parse(line))
  const middle = new Date((Date.parse(range[1] ?? '') + Date.parse(range[3] ?? '')) / 2).toISOString()
  const parts = []
  for (const [from, to] of [
    [range[1], middle],
    [middle, range[3]],
  ])
    parts.push(
      linesOf(await exported('part.jsonl', ['--from', from ?? '', '--to', to ?? ''])).map((line) => JSON.parse(line)),
    )
  const idsOf = (lines: ReadonlyArray<{ line: string; id: number }>) =>
    lines.filter(({ line }) => line === 'movement').map(({ id }) => id)
  expect(parts.flatMap(idsOf).sort((a, b) => a - b)).toEqual(idsOf(whole).sort((a, b) => a - b))
  expect(parts[1]?.at(-1).opening_micro).toBe(parts[0]?.at(-1).closing_micro)
})

test('whatever one thing is done to a file, verify names the line', async () => {
  const lines = linesOf(await exported('whole.jsonl'))
  expect(flawsOf(lines)).toEqual([])
  const last = lines.length - 1
  fc.assert(
    fc.property(fc.nat(last), fc.constantFrom('change', 'recompute', 'drop', 'double', 'swap', 'cut'), (at, deed) => {
      const text = lines[at] ?? ''
      const changed = [...lines]
      let flawed = at + 1
      if (deed === 'change') changed[at] = text.replace(/\d(?=\D*$)/, (digit) => String((Number(digit) + 1) % 10))
      if (deed === 'recompute') {
        // somebody who knows the format writes the line anew, with a check that fits
        const { check: _check, ...value } = JSON.parse(text)
        changed[at] = withCheck({ ...value, extra: 'x' })
      }
      if (deed === 'drop') changed.splice(at, 1)
      if (deed === 'double') {
        changed.splice(at, 0, text)
        flawed += 1
      }
      if (deed === 'swap') {
        const other = at === last ? at - 1 : at + 1
        flawed = Math.min(at, other) + 1
        ;[changed[at], changed[other]] = [changed[other] ?? '', text]
      }
      if (deed === 'cut') {
        changed.splice(at)
        flawed = at
      }
      const flaws = flawsOf(changed)
      expect(flaws.length, `${deed} line ${at + 1}`).toBeGreaterThan(0)
      // a line that fits by itself is found by its block: the block's line says which lines it means
      const first = flaws[0]?.line ?? 0
      if (deed === 'recompute') expect(first).toBeGreaterThanOrEqual(at + 1)
      else if (deed === 'drop' && at === last) expect(first).toBe(last)
      else expect(first, `${deed} line ${at + 1}`).toBe(flawed)
    }),
    { numRuns: 120 },
  )
})

test('a forged amount whose check, block and end were all made anew is found by its sums, or by the noted hash', async () => {
  const text = await exported('whole.jsonl')
  const { hash } = (await terminal.run(['verify', file('whole.jsonl'), '--json'])).json<{ hash: string }>()
  const lines = linesOf(text)
  const at = lines.findIndex((line) => line.includes('"kind":"capture"'))
  const { check: _check, ...value } = JSON.parse(lines[at] ?? '')
  lines[at] = withCheck({ ...value, amount_micro: String(Number(value.amount_micro) + 1) })
  const messages = flawsOf(lines).map(({ line, message }) => `${line} ${message}`)
  expect(messages[0]).toMatch(new RegExp(`^${at + 1} does not add up: `))
  expect(messages.join()).toMatch(/holds another hash than its lines make/)

  const other = await terminal.run([
    'verify',
    file('whole.jsonl'),
    '--hash',
    hash.replace(/^./, (digit) => (digit === '0' ? '1' : '0')),
  ])
  expect([other.exitCode, other.out]).toEqual([exitCodes.failed, expect.stringMatching(/this is not the file/)])
  expect((await terminal.run(['verify', file('whole.jsonl'), '--hash', hash])).exitCode).toBe(exitCodes.ok)
})

test('ranges that are open or turned round, and files that are none, are refused with what to do', async () => {
  const now = new Date().toISOString()
  for (const [args, exitCode, said] of [
    [['export', 'ledger', '--from', '2026-01-01', '--to', now], exitCodes.usage, /at least a minute ago/],
    [['export', 'ledger', '--from', '2026-01-02', '--to', '2026-01-01'], exitCodes.usage, /later than --from/],
    [['export', 'ledger', '--from', 'may', '--to', '2026-01-01'], exitCodes.usage, /2027-01-31/],
    [['verify', file('nothing.jsonl')], exitCodes.usage, /cannot be read/],
  ] as const) {
    const ran = await terminal.run(args)
    expect([ran.exitCode, ran.err]).toEqual([exitCode, expect.stringMatching(said)])
  }
  writeFileSync(file('other.txt'), 'hello\nworld\n')
  const ran = await terminal.run(['verify', file('other.txt')])
  expect([ran.exitCode, ran.out.split('\n')[0]]).toEqual([exitCodes.failed, 'line 1 is no line of an export'])
})

test('an export of an empty range is whole, and one that is given up leaves no file behind', async () => {
  await exported('empty.jsonl', ['--from', '1700-01-01', '--to', '1700-01-02'])
  const { out } = await terminal.run(['verify', file('empty.jsonl')])
  expect(out).toMatch(/^The file is whole: 0 movements of 0 accounts/)
  const text = exportLedger(database.db, { from: new Date(0), to: new Date(1) }, () => undefined)
  expect((await text.next()).value).toMatch(/^\{"line":"head"/)
  await text.return(undefined as never)
})
