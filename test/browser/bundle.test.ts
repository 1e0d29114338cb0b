import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'

const KIB = 1024
const SHELL_MAX = 115 * KIB
const ROUTE_MAX = 60 * KIB
const folder = join(import.meta.dirname, '..', '..', 'console')

type Manifest = Readonly<
  Record<
    string,
    {
      readonly file: string
      readonly isEntry?: boolean
      readonly imports?: readonly string[]
      readonly dynamicImports?: readonly string[]
      readonly css?: readonly string[]
    }
  >
>

/** The files that a browser has to load before it runs this part, without those that are there already. */
function filesOf(manifest: Manifest, part: string, there: ReadonlySet<string> = new Set()): Set<string> {
  const files = new Set<string>()
  const visit = (name: string): void => {
    const { file = '', css = [], imports = [] } = manifest[name] ?? {}
    if (there.has(file) || files.has(file)) return
    for (const one of [file, ...css]) files.add(one)
    for (const next of imports) visit(next)
  }
  visit(part)
  return files
}

async function gzippedBytes(files: Iterable<string>): Promise<number> {
  const sizes = await Promise.all(
    [...files].map(async (file) => gzipSync(await readFile(join(folder, 'dist', file))).length),
  )
  return sizes.reduce((sum, size) => sum + size, 0)
}

test('the shell is at most 115 KiB compressed, and no page adds more than 60', async () => {
  await promisify(execFile)(process.execPath, [join(folder, 'build.ts')])
  const manifest = JSON.parse(await readFile(join(folder, 'dist', 'manifest.json'), 'utf8')) as Manifest
  const [entry = ''] = Object.keys(manifest).filter((name) => manifest[name]?.isEntry)
  const shell = filesOf(manifest, entry)
  expect(await gzippedBytes(shell)).toBeLessThanOrEqual(SHELL_MAX)
  const routes = manifest[entry]?.dynamicImports ?? []
  expect(routes.length).toBeGreaterThan(10)
  for (const route of routes)
    expect([route, (await gzippedBytes(filesOf(manifest, route, shell))) <= ROUTE_MAX]).toEqual([route, true])
})
