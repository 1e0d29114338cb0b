import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  isNode,
  lineOf,
  nameOf,
  parseFile,
  projectFolder,
  type SourceFile,
  type SyntaxNode,
  sourceFiles,
  walk,
} from './source.ts'
import { deadExports, measured, overLimits, undocumentedExports } from './source-measures.ts'

/** What stands over a limit today, with its size: an entry may shrink or go, never grow (tools/ratchet.ts shrinks it). */
interface Ratchet {
  readonly files: Readonly<Record<string, number>>
  readonly functions: Readonly<Record<string, number>>
  /** With the reason why each stays. */
  readonly deadExports: Readonly<Record<string, string>>
}

const ratchet = JSON.parse(readFileSync(new URL('tidy-ratchet.json', import.meta.url), 'utf8')) as Ratchet
const generated = new Set(['src/db/schema.ts'])
const files = sourceFiles('src', 'test', 'tools', 'bench', 'examples').filter((file) => !generated.has(file.path))
const isTest = (file: SourceFile): boolean => file.path.endsWith('.test.ts')
const served = files.filter((file) => file.path.startsWith('src/') && !isTest(file))

describe('what is served', () => {
  test('takes time, randomness and the environment as arguments', () => {
    expect(served.flatMap(ambient)).toEqual([])
  })

  test('has no any, no default export and no enum', () => {
    expect(served.flatMap(loose)).toEqual([])
  })

  test('documents every export directly above it', () => {
    expect(served.flatMap(undocumentedExports).map((where) => `${where} has no doc comment`)).toEqual([])
  })

  test('exports nothing that nobody imports', () => {
    const dead = deadExports(files)
    expect(
      dead
        .filter((name) => !Object.hasOwn(ratchet.deadExports, name))
        .map((name) => `${name} is imported nowhere: drop the export, or the code`),
    ).toEqual([])
    expect(
      Object.keys(ratchet.deadExports)
        .filter((name) => !dead.includes(name))
        .map((name) => `${name} is used now or gone: run node tools/ratchet.ts`),
    ).toEqual([])
  })
})

describe('everything', () => {
  test('keeps files within 300 lines and functions within 70, or never grows beyond its ratchet', () => {
    const { files: longFiles, functions } = measured(files)
    expect([
      ...overLimits('lines', longFiles, ratchet.files),
      ...overLimits('lines', functions, ratchet.functions),
    ]).toEqual([])
  })

  test('leaves no note to do something later, and names no machine or registry', () => {
    expect(textFiles().flatMap(({ path, text }) => leftovers(path, text))).toEqual([])
  })

  test('gives every test a title of at least three words and skips none', () => {
    expect(files.filter(isTest).flatMap(untitled)).toEqual([])
  })

  test('can be installed from a clean clone: the lock has the packages of every platform', () => {
    expect(missingFromLock(readFileSync(join(projectFolder, 'package-lock.json'), 'utf8'))).toEqual([])
  })
})

describe('these rules', () => {
  const found = (rule: (file: SourceFile) => string[], text: string): number =>
    rule(parseFile('src/kernel/sample.ts', text)).length

  test.each([
    'Date.now()',
    'new Date()',
    'Math.random()',
    'process.env.HOME',
    'crypto.randomUUID()',
    `import { randomBytes } from 'node:crypto'`,
    `import { env } from 'node:process'`,
  ])('find the ambient %s', (text) => {
    expect(found(ambient, text)).toBe(1)
  })

  test('leave given times and passed-in randomness alone', () => {
    expect(found(ambient, 'new Date(0); clock.now(); random.bytes(8); options.env')).toBe(0)
  })

  test.each(['let a: any', 'export default 1', 'enum A { B }', 'const enum C {}'])(
    'find the loose type of %s',
    (text) => {
      expect(found(loose, text)).toBe(1)
    },
  )

  test('find an undocumented export and not a documented one', () => {
    expect(found(undocumentedExports, 'export const a = 1')).toBe(1)
    expect(found(undocumentedExports, '/** A. */\nexport const a = 1')).toBe(0)
    expect(found(undocumentedExports, '/** A. */\nconst b = 2\nexport const a = 1')).toBe(1)
  })

  test('find skipped, focused and untitled tests', () => {
    const mark = (modifier: string): string => `test.${modifier}('one two three', () => {})`
    expect(['skip', 'only', 'todo'].map((modifier) => found(untitled, mark(modifier)))).toEqual([1, 1, 1])
    expect(found(untitled, `test('works', () => {})`)).toBe(1)
    expect(found(untitled, `test('a key is refused', () => {})`)).toBe(0)
  })

  test('find a value that only a test imports, and count a namespace by its members', () => {
    const sources = [
      parseFile('src/kernel/a.ts', 'export const used = 1, unused = 2; export interface Shape {}'),
      parseFile('src/db/b.ts', `import * as a from '../kernel/a.ts'; console.log(a.used)`),
      parseFile('src/db/b.test.ts', `import { unused } from '../kernel/a.ts'`),
    ]
    expect(deadExports(sources)).toEqual(['src/kernel/a.ts Shape', 'src/kernel/a.ts unused'])
  })

  test('let a ratcheted size shrink and refuse that it grows', () => {
    expect(overLimits('lines', { 'a.ts': 310 }, { 'a.ts': 320 })).toEqual([])
    expect(overLimits('lines', { 'a.ts': 330 }, { 'a.ts': 320 })).toHaveLength(1)
    expect(overLimits('lines', { 'a.ts': 310 }, {})).toHaveLength(1)
  })
})

/** The only places that may ask the machine for time, chance and settings. */
const mayBeAmbient = /^src\/(main|kernel\/clock|kernel\/random)\.ts$|\/harness\.ts$/
const chance = new Set(['randomUUID', 'randomUUIDv7', 'randomBytes', 'randomInt', 'getRandomValues'])

function ambient(file: SourceFile): string[] {
  if (mayBeAmbient.test(file.path)) return []
  const found: string[] = []
  const note = (node: SyntaxNode, what: string): void => {
    found.push(
      `${file.path}:${lineOf(file.text, node.start)} uses ${what}: take a Clock, a Random or the setting as an argument`,
    )
  }
  walk(file.program, (node) => {
    if (node.type === 'NewExpression' && nameOf(node.callee) === 'Date' && isEmpty(node.arguments))
      note(node, 'new Date()')
    if (node.type === 'ImportSpecifier' && chance.has(nameOf(node.imported) ?? ''))
      note(node, nameOf(node.imported) ?? '')
    if (node.type === 'ImportSpecifier' && nameOf(node.imported) === 'env') note(node, 'env')
    if (node.type !== 'MemberExpression') return
    const path = `${nameOf(node.object)}.${nameOf(node.property)}`
    if (path === 'Date.now' || path === 'Math.random' || path === 'process.env') note(node, path)
    if (nameOf(node.object) === 'crypto' && chance.has(nameOf(node.property) ?? '')) note(node, path)
  })
  return found
}

const looseTypes: Readonly<Record<string, string>> = {
  TSAnyKeyword: 'any',
  ExportDefaultDeclaration: 'a default export',
  TSEnumDeclaration: 'an enum',
}

function loose(file: SourceFile): string[] {
  const found: string[] = []
  walk(file.program, (node) => {
    const what = looseTypes[node.type]
    if (what) found.push(`${file.path}:${lineOf(file.text, node.start)} has ${what}`)
  })
  return found
}

function untitled(file: SourceFile): string[] {
  const found: string[] = []
  const note = (node: SyntaxNode, what: string): void => {
    found.push(`${file.path}:${lineOf(file.text, node.start)} ${what}`)
  }
  walk(file.program, (node) => {
    if (node.type === 'MemberExpression') {
      const runner = nameOf(node.object)
      const modifier = nameOf(node.property) ?? ''
      if (/^(test|it|describe)$/.test(runner ?? '') && /^(skip|only|todo|fails)/.test(modifier))
        note(node, `has ${runner}.${modifier}: every test runs`)
    }
    if (node.type !== 'CallExpression' || !isTestCall(node.callee)) return
    const title = Array.isArray(node.arguments) ? titleOf(node.arguments[0]) : undefined
    if (title !== undefined && wordsOf(title) < 3)
      note(node, `"${title}" states no guarantee: a title is a sentence of at least three words`)
  })
  return found
}

/** A placeholder stands for a phrase of the table that the test runs over. */
const wordsOf = (title: string): number =>
  title
    .replaceAll(/%[sdijo]|\$\w+/g, 'a whole phrase')
    .trim()
    .split(/\s+/).length

/** True for `test`, `it`, `test.each(...)`, and modifiers of them. */
function isTestCall(callee: unknown): boolean {
  if (!isNode(callee)) return false
  if (callee.type === 'Identifier') return callee.name === 'test' || callee.name === 'it'
  if (callee.type === 'CallExpression')
    return isNode(callee.callee) && callee.callee.type === 'MemberExpression' && isTestCall(callee.callee.object)
  return false
}

function titleOf(argument: unknown): string | undefined {
  if (!isNode(argument)) return undefined
  if (argument.type === 'TemplateLiteral' && Array.isArray(argument.quasis))
    return argument.quasis.map((part: { value: { raw: string } }) => part.value.raw).join('x')
  return typeof argument.value === 'string' ? argument.value : undefined
}

/** Spelled in pieces, so that this file passes its own rule. */
const banned: ReadonlyArray<readonly [pattern: RegExp, why: string]> = [
  [
    new RegExp(`\\b(${['TO', 'FIX', 'XX'].map((start, n) => start + ['DO', 'ME', 'X'][n]).join('|')})\\b`),
    'do it now, or open an issue',
  ],
  [new RegExp(`${'/wo'}rk/`), 'a path of one machine'],
  [new RegExp(`registry\\.${'np'}mjs`), 'the host of a registry'],
]

function leftovers(path: string, text: string): string[] {
  return text
    .split('\n')
    .flatMap((line, index) =>
      banned
        .filter(([pattern]) => pattern.test(line))
        .map(([pattern, why]) => `${path}:${index + 1} has ${pattern.exec(line)?.[0]}: ${why}`),
    )
}

/** Optional packages that the lock depends on and does not have: with one of them, npm ci refuses to install anything. */
function missingFromLock(text: string): string[] {
  const { packages } = JSON.parse(text) as {
    packages: Record<string, { optionalDependencies?: Record<string, string> }>
  }
  const present = new Set(Object.keys(packages).map((path) => path.split('node_modules/').at(-1)))
  return Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies)
      .filter((name) => !present.has(name))
      .map((name) => `package-lock.json lacks ${name}, which ${path || 'package.json'} asks for`),
  )
}

/** Everything that people read in the project, generated files included. */
function textFiles(): Array<{ path: string; text: string }> {
  const paths = globSync(
    [
      '*.{md,json,ts,yaml,yml}',
      '.ci/*',
      'bin/*',
      '{src,test,tools,bench,examples,docs,db,bin}/**/*.{md,json,ts,js,sql,html,css,yaml,sh}',
    ],
    { cwd: projectFolder },
  )
  return paths
    .filter((path) => path !== 'package-lock.json')
    .map((path) => ({ path, text: readFileSync(join(projectFolder, path), 'utf8') }))
}

const isEmpty = (list: unknown): boolean => Array.isArray(list) && list.length === 0
