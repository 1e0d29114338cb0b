import { execFileSync } from 'node:child_process'
import { copyFile, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * Builds what is published: plain JavaScript and its types, into `dist` or the folder that is given. The compiler is
 * the project's own; this folder's older one is only for the generator of `api.d.ts`. `tsconfig.json` knows no global of
 * Node, so what runs in Node only does not compile.
 */
const here = import.meta.dirname
const out = process.argv[2] ?? join(here, 'dist')
const compiler = join(here, '..', 'node_modules', 'typescript', 'bin', 'tsc')

await rm(out, { recursive: true, force: true })
execFileSync(process.execPath, [compiler, '-p', here, '--outDir', out], { stdio: 'inherit' })
// the compiler copies no declaration file, and leaves `.ts` in the paths of those that it writes
await copyFile(join(here, 'src', 'api.d.ts'), join(out, 'api.d.ts'))
for (const name of (await readdir(out)).filter((name) => name.endsWith('.d.ts') && name !== 'api.d.ts')) {
  const text = await readFile(join(out, name), 'utf8')
  await writeFile(join(out, name), text.replaceAll(/'(\.\/[\w-]+)\.ts'/g, "'$1.js'"))
}
