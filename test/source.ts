import { globSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseSync } from 'vite'

/** A node of the syntax tree (ESTree, with TypeScript's own nodes); its other members depend on its type. */
export interface SyntaxNode {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [member: string]: unknown
}

/** A comment, `value` without its marks. */
export interface Comment {
  readonly type: 'Line' | 'Block'
  readonly value: string
  readonly start: number
  readonly end: number
}

/** One import or re-export of one of our own files, or of a package. */
export interface Import {
  /** Path in the project for our own files, else the specifier as written. */
  readonly from: string
  readonly own: boolean
  /** Names taken; `*` when the whole module is. */
  readonly names: readonly string[]
  /** For `import * as name`: that name. */
  readonly namespace: string | undefined
  readonly line: number
}

/** A TypeScript file of the project, parsed. */
export interface SourceFile {
  /** Path in the project, with forward slashes. */
  readonly path: string
  readonly text: string
  readonly program: SyntaxNode
  readonly comments: readonly Comment[]
  readonly imports: readonly Import[]
}

/** The project's folder. */
export const projectFolder = fileURLToPath(new URL('..', import.meta.url))

/** Reads and parses every .ts file below these folders of the project; a folder that does not exist has none. */
export function sourceFiles(...folders: readonly string[]): SourceFile[] {
  return folders.flatMap((folder) =>
    globSync(`${folder}/**/*.ts`, { cwd: projectFolder })
      .map((path) => path.replaceAll('\\', '/'))
      .sort()
      .map((path) => parseFile(path, readFileSync(join(projectFolder, path), 'utf8'))),
  )
}

/** Parses the text of a file that stands, or would stand, at `path` in the project. */
export function parseFile(path: string, text: string): SourceFile {
  const { program, comments, errors } = parseSync(path, text, { lang: 'ts' })
  if (errors.length > 0) throw new SyntaxError(`${path}: ${errors[0]?.message}`)
  const root = program as unknown as SyntaxNode
  return {
    path,
    text,
    program: root,
    comments: comments as readonly Comment[],
    imports: importsOf(path, text, root),
  }
}

/** Visits every node below (and with) `node`, parents first. */
export function walk(
  node: SyntaxNode,
  visit: (node: SyntaxNode, parent: SyntaxNode | undefined) => void,
  parent?: SyntaxNode,
): void {
  visit(node, parent)
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? value : [value]) {
      if (isNode(child)) walk(child, visit, node)
    }
  }
}

/** Line of a position, counted from 1. */
export function lineOf(text: string, position: number): number {
  return text.slice(0, position).split('\n').length
}

/** Narrows a member of a node. */
export function isNode(value: unknown): value is SyntaxNode {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as { type?: unknown }).type === 'string' &&
    typeof (value as { start?: unknown }).start === 'number'
  )
}

/** The name of an identifier, or of a string literal used as one. */
export function nameOf(node: unknown): string | undefined {
  if (!isNode(node)) return undefined
  const name = node.name ?? node.value
  return typeof name === 'string' ? name : undefined
}

const importing = new Set([
  'ImportDeclaration',
  'ExportNamedDeclaration',
  'ExportAllDeclaration',
  'ImportExpression',
  'TSImportType',
])

function importsOf(path: string, text: string, program: SyntaxNode): Import[] {
  const found: Import[] = []
  walk(program, (node) => {
    if (!importing.has(node.type)) return
    const specifier = nameOf(node.source)
    if (specifier === undefined) return
    const own = specifier.startsWith('.')
    const specifiers = Array.isArray(node.specifiers) ? node.specifiers.filter(isNode) : undefined
    const whole = specifiers?.find((one) => one.type === 'ImportNamespaceSpecifier')
    found.push({
      from: own ? relative('.', join(dirname(path), specifier)).replaceAll('\\', '/') : specifier,
      own,
      names: specifiers && !whole ? specifiers.flatMap((one) => takenName(one) ?? []) : ['*'],
      namespace: nameOf(whole?.local),
      line: lineOf(text, node.start),
    })
  })
  return found
}

/** The name that the other file exports; a re-export has it as its local name. */
function takenName(specifier: SyntaxNode): string | undefined {
  if (specifier.type === 'ImportDefaultSpecifier') return 'default'
  return nameOf(specifier.imported ?? specifier.local)
}
