import { stripTypeScriptTypes } from 'node:module'
import { expect, test } from 'vitest'
import { isNode, parseFile, type SyntaxNode, sourceFiles, walk } from '../../test/source.ts'

const files = sourceFiles('sdk/src').filter(({ path }) => !/\.(test|fixture|d)\.ts$/.test(path))

/** What the language has, and what WinterTC's Minimum Common Web API promises on every server runtime. */
const everywhere = new Set([
  ...['Array', 'BigInt', 'Date', 'Error', 'JSON', 'Map', 'Math', 'Number', 'Object', 'Promise', 'Set', 'String'],
  ...['TypeError', 'Uint8Array', 'encodeURIComponent', 'undefined'],
  ...['AbortController', 'AbortSignal', 'TextDecoder', 'TextEncoder', 'URLSearchParams'],
  ...['atob', 'btoa', 'clearTimeout', 'crypto', 'fetch', 'setTimeout'],
])

/** The names that a program takes from its surroundings: those it uses and declares nowhere. */
function takenNames(path: string, text: string): string[] {
  const used = new Set<string>()
  const declared = new Set<string>()
  const bind = (pattern: unknown): void => {
    if (!isNode(pattern)) return
    if (pattern.type === 'Identifier') declared.add(String(pattern.name))
    for (const member of ['elements', 'properties', 'value', 'argument', 'left'] as const)
      for (const part of [pattern[member]].flat()) bind(part)
  }
  walk(parseFile(path, stripTypeScriptTypes(text)).program, (node, parent) => {
    if (node.type === 'Identifier' && parent && !isNameOnly(node, parent)) used.add(String(node.name))
    if ('params' in node) for (const parameter of [node.params].flat()) bind(parameter)
    if (/^(Variable|Function|Class|Import)/.test(node.type)) for (const name of [node.id, node.local]) bind(name)
    if (node.type === 'CatchClause') bind(node.param)
  })
  return [...used].filter((name) => !declared.has(name))
}

/** True where the identifier names a member, and not a thing in scope. */
function isNameOnly(node: SyntaxNode, parent: SyntaxNode): boolean {
  if (parent.computed === true || parent.shorthand === true) return false
  return parent.property === node || parent.key === node || /Specifier$/.test(parent.type)
}

test('the SDK takes nothing from its surroundings but what every runtime has', () => {
  expect(files.length).toBeGreaterThan(10)
  const taken = files.flatMap(({ path, text }) => takenNames(path, text).map((name) => [path, name] as const))
  expect(taken.filter(([, name]) => !everywhere.has(name))).toEqual([])
  // what is listed is used, so that the list stays as short as it can be
  expect([...everywhere].filter((name) => !taken.some(([, used]) => used === name))).toEqual([])
})

test('the SDK imports no module of Node, and packages only where it says so', () => {
  const packages = files.flatMap(({ path, imports }) =>
    imports.filter(({ own }) => !own).map(({ from }) => `${path} ${from}`),
  )
  expect(packages.sort()).toEqual(['sdk/src/ai-sdk.ts @ai-sdk/openai-compatible', 'sdk/src/ai-sdk.ts zod/v4'])
})

test.each(['process.env.KEY', 'Buffer.from("a")', 'window.name', 'globalThis.process', 'setInterval(f, 1)'])(
  'a program that uses %s is noticed',
  (text) => {
    expect(
      takenNames('x.ts', `const f = (): void => undefined\n${text}`).filter((name) => !everywhere.has(name)),
    ).toHaveLength(1)
  },
)
