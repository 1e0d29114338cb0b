import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { markdownToHtml } from '../src/docs/markdown.ts'

const project = fileURLToPath(new URL('..', import.meta.url))

/** The documents of a folder and of all below it. */
const documentsIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.md'))
    .map((path) => join(folder, path))

const documents = [
  ...readdirSync(project)
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(project, name)),
  ...documentsIn(join(project, 'docs')),
  join(project, 'sdk/README.md'),
]

interface Link {
  readonly from: string
  readonly target: string
  readonly path: string
  readonly fragment: string
}

/** Links and pictures of a document that lead to files of the project; what is in fences is no link. */
function linksOf(from: string): Link[] {
  const text = readFileSync(from, 'utf8').replaceAll(/^```[\s\S]*?^```/gm, '')
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^[a-z]+:/.test(target))
    .map((target) => {
      const [path = '', fragment = ''] = target.split('#')
      return { from: relative(project, from), target, path: path ? resolve(dirname(from), path) : from, fragment }
    })
}

/** The fragments that a document can be linked by, as its page has them. */
const fragmentsOf = (path: string): string[] =>
  [...markdownToHtml(readFileSync(path, 'utf8')).matchAll(/<h\d id="([^"]+)"/g)].map(([, id = '']) => id)

test('every fence is closed: what follows an open one would be shown as a command', () => {
  const open = documents.filter((path) => (readFileSync(path, 'utf8').match(/^```/gm)?.length ?? 0) % 2 === 1)
  expect(open.map((path) => relative(project, path))).toEqual([])
})

test('every link between documents leads to a file that is there, and to a heading that is there', () => {
  const broken = documents.flatMap(linksOf).filter(({ path, fragment }) => {
    if (!existsSync(path)) return true
    return fragment !== '' && !fragmentsOf(path).includes(fragment)
  })
  expect(broken.map(({ from, target }) => `${from} links to ${target}`)).toEqual([])
})

test('every document is reached from the README by links', () => {
  const reached = new Set<string>()
  const toRead = [join(project, 'README.md')]
  for (const path of toRead) {
    if (reached.has(path) || !existsSync(path)) continue
    reached.add(path)
    // a link to a folder shows what is in it
    if (statSync(path).isDirectory()) toRead.push(...documentsIn(path))
    else if (path.endsWith('.md')) toRead.push(...linksOf(path).map((link) => link.path))
  }
  expect(documents.filter((path) => !reached.has(path)).map((path) => relative(project, path))).toEqual([])
})
