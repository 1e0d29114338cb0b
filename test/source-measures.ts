import { isNode, lineOf, nameOf, type SourceFile, type SyntaxNode, walk } from './source.ts'

/** A file over this wants a reason; a function over the other is split. */
const LIMITS = { fileLines: 300, functionLines: 70 } as const

/** Lines of the files and functions that are over the limits, by path and by `path name`. */
export function measured(files: readonly SourceFile[]): {
  files: Record<string, number>
  functions: Record<string, number>
} {
  const longFiles: Record<string, number> = {}
  const functions: Record<string, number> = {}
  for (const file of files) {
    const lines = file.text.trimEnd().split('\n').length
    if (lines > LIMITS.fileLines) longFiles[file.path] = lines
    for (const [name, length] of functionLengths(file)) {
      if (length > LIMITS.functionLines) functions[`${file.path} ${name}`] = length
    }
  }
  return { files: longFiles, functions }
}

/** One line for each size that is over its limit and not allowed by the ratchet, or over its ratchet. */
export function overLimits(
  unit: string,
  sizes: Readonly<Record<string, number>>,
  allowed: Readonly<Record<string, number>>,
): string[] {
  return Object.entries(sizes).flatMap(([name, size]) => {
    const most = allowed[name]
    if (most !== undefined && size <= most) return []
    const limit = most === undefined ? 'it is over the limit' : `its ratchet is ${most}`
    return [`${name} has ${size} ${unit} and ${limit}: split it where a reader would pause`]
  })
}

/**
 * `path name` of every export below src/ that no other file imports, sorted. A test is no user, except of what
 * stands below test/. A type that its own file names again is part of another export, so it is alive.
 */
export function deadExports(files: readonly SourceFile[]): string[] {
  const used = new Set<string>()
  for (const file of files) {
    if (file.path.endsWith('.test.ts')) continue
    for (const taken of file.imports) {
      const names = taken.namespace === undefined ? taken.names : membersOf(file, taken.namespace)
      for (const name of names) used.add(`${taken.from} ${name}`)
    }
  }
  return files
    .filter((file) => file.path.startsWith('src/') && !isSupport(file.path))
    .flatMap((file) =>
      exportsOf(file)
        .filter(({ name, isType }) => {
          if (used.has(`${file.path} ${name}`) || used.has(`${file.path} *`)) return false
          return !(isType && occurrences(file.text, name) > 1)
        })
        .map(({ name }) => `${file.path} ${name}`),
    )
    .sort()
}

/** `path:line name` of every export without a doc comment directly above. */
export function undocumentedExports(file: SourceFile): string[] {
  return exportsOf(file)
    .filter(({ node, reexport }) => !reexport && !isDocumented(file, node))
    .map(({ node, name }) => `${file.path}:${lineOf(file.text, node.start)} ${name}`)
}

const isSupport = (path: string): boolean => /\.test\.ts$|\/harness\.ts$|\.fixture\.ts$/.test(path)

interface Export {
  readonly name: string
  readonly node: SyntaxNode
  readonly isType: boolean
  readonly reexport: boolean
}

function exportsOf(file: SourceFile): Export[] {
  const body = file.program.body as readonly SyntaxNode[]
  return body
    .filter((node) => node.type === 'ExportNamedDeclaration')
    .flatMap((node) => {
      const reexport = !isNode(node.declaration)
      const isType = node.exportKind === 'type'
      return namesIn(node).map((name) => ({ name, node, isType, reexport }))
    })
}

function namesIn(node: SyntaxNode): string[] {
  const { declaration } = node
  if (!isNode(declaration)) {
    return (node.specifiers as readonly SyntaxNode[]).flatMap((one) => nameOf(one.exported) ?? [])
  }
  if (declaration.type !== 'VariableDeclaration') return [nameOf(declaration.id) ?? '']
  return (declaration.declarations as readonly SyntaxNode[]).flatMap((one) => nameOf(one.id) ?? [])
}

/** A doc comment counts when only white space and tool directives stand between it and the export; overloads share one. */
function isDocumented(file: SourceFile, node: SyntaxNode): boolean {
  let end = node.start
  for (const comment of file.comments.filter((one) => one.end <= node.start).reverse()) {
    if (file.text.slice(comment.end, end).trim() !== '') return false
    if (comment.type === 'Block') return comment.value.startsWith('*')
    end = comment.start
  }
  return false
}

/** Members that a file takes of a namespace; `*` when it hands the namespace on as a whole. */
function membersOf(file: SourceFile, namespace: string): string[] {
  const members = new Set<string>()
  walk(file.program, (node, parent) => {
    if (node.type !== 'Identifier' || node.name !== namespace) return
    if (parent?.type === 'ImportNamespaceSpecifier') return
    if (parent?.type === 'MemberExpression' && parent.object === node) members.add(nameOf(parent.property) ?? '*')
    else if (parent?.type === 'TSQualifiedName' && parent.left === node) members.add(nameOf(parent.right) ?? '*')
    else if (parent?.type !== 'MemberExpression') members.add('*')
  })
  return [...members]
}

const occurrences = (text: string, name: string): number => text.match(new RegExp(`\\b${name}\\b`, 'g'))?.length ?? 0

const functionTypes = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression'])

/** Lines of every function. What `describe` runs is a list of tests, not a function to follow. */
function functionLengths(file: SourceFile): Array<[name: string, lines: number]> {
  const lengths: Array<[string, number]> = []
  walk(file.program, (node, parent) => {
    if (!functionTypes.has(node.type) || isSuite(parent)) return
    const lines = lineOf(file.text, node.end) - lineOf(file.text, node.start) + 1
    lengths.push([nameOf(node.id) ?? nameOf(parent?.id ?? parent?.key) ?? 'anonymous', lines])
  })
  return lengths
}

function isSuite(parent: SyntaxNode | undefined): boolean {
  if (parent?.type !== 'CallExpression' || !isNode(parent.callee)) return false
  let callee: unknown = parent.callee
  while (isNode(callee) && callee.type !== 'Identifier') callee = callee.callee ?? callee.object
  return nameOf(callee) === 'describe'
}
