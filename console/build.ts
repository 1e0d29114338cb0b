import { createHash } from 'node:crypto'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { build } from 'vite'

/**
 * Builds the console into `console/dist`, unless it is there already and its sources are the same. `npm ci` runs
 * this; a start without a built console runs it too.
 */
const here = import.meta.dirname
const stamp = join(here, 'dist', '.sources')

// also where a test runner builds it, which says `test` here: React has a slow and large form for that
process.env.NODE_ENV = 'production'
const wanted = await sourcesHash()
if ((await readFile(stamp, 'utf8').catch(() => '')) !== wanted) {
  await build({ configFile: join(here, 'vite.config.ts'), logLevel: 'warn' })
  await writeFile(stamp, wanted)
}

async function sourcesHash(): Promise<string> {
  const hash = createHash('sha256')
  const entries = await readdir(here, { recursive: true, withFileTypes: true })
  const files = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => !file.startsWith(join(here, 'dist')))
    .toSorted()
  for (const file of [...files, join(here, '..', 'package-lock.json')])
    hash.update(`${file}\0`).update(await readFile(file))
  return hash.digest('hex')
}
