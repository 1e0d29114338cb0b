import { lstat, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { restoreLinks } from './binaries.ts'

test('links between libraries that npm did not make are made', async () => {
  const root = await mkdtemp(join(tmpdir(), 'farebox-package-'))
  await mkdir(join(root, 'native', 'lib'), { recursive: true })
  await writeFile(join(root, 'native', 'lib', 'libpq.so.5.18'), 'library')
  await writeFile(
    join(root, 'native', 'pg-symlinks.json'),
    JSON.stringify([{ source: 'native/lib/libpq.so.5.18', target: 'native/lib/libpq.so.5' }]),
  )
  await restoreLinks(root)
  await restoreLinks(root)
  expect((await lstat(join(root, 'native', 'lib', 'libpq.so.5'))).isSymbolicLink()).toBe(true)
  expect(await readFile(join(root, 'native', 'lib', 'libpq.so.5'), 'utf8')).toBe('library')
  await rm(root, { recursive: true })
})
