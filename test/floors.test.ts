import { expect, test } from 'vitest'
import { type Import, parseFile, type SourceFile, sourceFiles } from './source.ts'

/** Rooms of src/ from the ground up. A file imports its own room or a lower floor, types included. */
const floors: readonly (readonly string[])[] = [
  ['kernel'],
  ['config', 'db', 'http', 'chains', 'providers', 'embedded', 'storage', 'net', 'terminal'],
  ['ledger', 'identity', 'limits'],
  ['billing'],
  ['payments', 'inference', 'media', 'capabilities', 'mcp', 'docs', 'webhooks', 'console'],
  ['administration'],
  ['app'],
  ['operator', 'client-program', 'development'],
  ['main'],
]

/** Areas whose folders are slices, each with the slices that their siblings may stand on. */
const areas: Readonly<Record<string, readonly string[]>> = {
  identity: ['accounts', 'audit-log', 'tokens', 'challenges'],
  billing: ['calls'],
  payments: ['orders'],
  inference: [],
  webhooks: ['endpoints'],
  media: ['tasks'],
  administration: [],
}

const mayImportHttp = /(^src\/(http|docs|app)\/)|(^src\/app\.ts$)|(\/(routes|schema)\.ts$)/
const mayHoldSql = /(^src\/(ledger|db|operator)\/)|(\/store\.ts$)/

/** Tests go in by whatever door they like; the rule is for what is served. */
const files = sourceFiles('src').filter((file) => !file.path.endsWith('.test.ts'))

test('every room of src stands on a floor', () => {
  const strangers = [...new Set(files.map((file) => roomOf(file.path)))].filter((room) => floorOf(room) < 0)
  expect(strangers.map((room) => `src/${room} is on no floor: add it to the table in floors.test.ts`)).toEqual([])
})

test('imports run down: never up, never to another room of the same floor', () => {
  expect(files.flatMap(againstTheFloors)).toEqual([])
})

test('sibling slices of an area do not import each other, only the ground slice of their area', () => {
  expect(files.flatMap(sideways)).toEqual([])
})

test('only routes.ts with its schema.ts, docs and app know the HTTP floor', () => {
  expect(files.flatMap(climbingToHttp)).toEqual([])
})

test('only store.ts, the ledger, db and operator hold SQL', () => {
  expect(files.flatMap(strayStatements)).toEqual([])
})

test('no files import each other in a circle', () => {
  expect(circles(files)).toEqual([])
})

test('a forbidden import of every sort is found and named', () => {
  const refused = (path: string, text: string): string[] => {
    const file = parseFile(path, text)
    return [againstTheFloors, sideways, climbingToHttp, strayStatements].flatMap((rule) => rule(file))
  }
  expect(refused('src/kernel/money.ts', `import type { Route } from '../http/route.ts'`)[0]).toMatch(
    /src\/kernel\/money.ts:1 .* http is above kernel/,
  )
  expect(refused('src/db/a.ts', `export { b } from '../config/b.ts'`)[0]).toMatch(/same floor/)
  expect(refused('src/payments/orders/service.ts', `import '../options/store.ts'`)[0]).toMatch(/sibling slice/)
  expect(refused('src/payments/orders/service.ts', `import '../../http/fields.ts'`)[0]).toMatch(/routes.ts/)
  expect(refused('src/payments/orders/service.ts', `import { sql } from 'kysely'`)[0]).toMatch(/store.ts/)
  expect(refused('src/identity/keys/service.ts', `db.selectFrom('api_keys')`)[0]).toMatch(/store.ts/)
  expect(refused('src/identity/keys/service.ts', `import '../accounts/store.ts'`)).toEqual([])
  const circle = [
    parseFile('src/kernel/a.ts', `import './b.ts'`),
    parseFile('src/kernel/b.ts', `let x: import('./a.ts').A`),
  ]
  expect(circles(circle)).toEqual(['src/kernel/a.ts -> src/kernel/b.ts -> src/kernel/a.ts'])
})

function roomOf(path: string): string {
  return /^src\/([^/]+?)(?:\.ts)?(?:\/|$)/.exec(path)?.[1] ?? path
}

function floorOf(room: string): number {
  return floors.findIndex((rooms) => rooms.includes(room))
}

function againstTheFloors(file: SourceFile): string[] {
  const room = roomOf(file.path)
  return ours(file).flatMap((taken) => {
    const other = roomOf(taken.from)
    if (other === room || floorOf(other) < floorOf(room)) return []
    const why =
      floorOf(other) === floorOf(room)
        ? `${other} is on the same floor as ${room}: what both need belongs on a floor below, or is passed in by app`
        : `${other} is above ${room}: pass it in as an argument, or move what is needed down to ${room} or below`
    return [`${place(file, taken)}: ${why}`]
  })
}

function sideways(file: SourceFile): string[] {
  const [area, slice] = sliceOf(file.path)
  const ground = areas[area]
  if (!ground || !slice) return []
  return ours(file).flatMap((taken) => {
    const [otherArea, otherSlice] = sliceOf(taken.from)
    if (otherArea !== area || !otherSlice || otherSlice === slice) return []
    if (ground.includes(otherSlice) && !ground.includes(slice)) return []
    return [
      `${place(file, taken)}: ${otherSlice} is a sibling slice of ${slice}: what both need belongs in ${ground.map((name) => `${area}/${name}`).join(', ') || 'a room below'}, or is passed in by app`,
    ]
  })
}

function climbingToHttp(file: SourceFile): string[] {
  if (mayImportHttp.test(file.path)) return []
  return ours(file)
    .filter((taken) => roomOf(taken.from) === 'http')
    .map(
      (taken) =>
        `${place(file, taken)}: only a slice's routes.ts and schema.ts know HTTP: throw a Fault, and keep JSON forms there`,
    )
}

function strayStatements(file: SourceFile): string[] {
  if (mayHoldSql.test(file.path)) return []
  const tag = file.imports.filter((taken) => taken.from === 'kysely' && taken.names.includes('sql'))
  const calls = [...file.text.matchAll(/\.(selectFrom|insertInto|updateTable|deleteFrom|mergeInto)\(/g)]
  const why = `a statement belongs in the slice's store.ts, the only file with SQL`
  return [
    ...tag.map((taken) => `${place(file, taken)}: ${why}`),
    ...calls.map(
      (call) => `${file.path}:${file.text.slice(0, call.index).split('\n').length} calls ${call[1]}: ${why}`,
    ),
  ]
}

/** One line for each circle, from the first of its files in the alphabet. */
function circles(among: readonly SourceFile[]): string[] {
  const targets = new Map(among.map((file) => [file.path, ours(file).map((taken) => taken.from)]))
  const found = new Set<string>()
  const done = new Set<string>()
  const visit = (path: string, trail: readonly string[]): void => {
    const start = trail.indexOf(path)
    if (start >= 0) {
      const circle = trail.slice(start)
      const first = circle.indexOf([...circle].sort()[0] as string)
      const turned = [...circle.slice(first), ...circle.slice(0, first)]
      found.add([...turned, turned[0]].join(' -> '))
      return
    }
    if (done.has(path)) return
    for (const target of targets.get(path) ?? []) visit(target, [...trail, path])
    done.add(path)
  }
  for (const path of targets.keys()) visit(path, [])
  return [...found]
}

/** `src/identity/keys/store.ts` gives identity and keys; a file directly in the area has no slice. */
function sliceOf(path: string): [area: string, slice: string | undefined] {
  const [, area = '', slice, more] = path.split('/')
  return [area, more === undefined ? undefined : slice]
}

const ours = (file: SourceFile): Import[] => file.imports.filter((taken) => taken.own && taken.from.startsWith('src/'))

const place = (file: SourceFile, taken: Import): string => `${file.path}:${taken.line} imports ${taken.from}`
