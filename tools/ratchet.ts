import { readFileSync, writeFileSync } from 'node:fs'
import { sourceFiles } from '../test/source.ts'
import { deadExports, measured } from '../test/source-measures.ts'

/**
 * Lowers test/tidy-ratchet.json to what the code is today. It raises or adds an entry only with `--accept`, which is for a
 * change of the formatter or the merge of long work, with the reason in the commit.
 */
const accept = process.argv.includes('--accept')
const path = new URL('../test/tidy-ratchet.json', import.meta.url)
const old = JSON.parse(readFileSync(path, 'utf8')) as {
  files: Record<string, number>
  functions: Record<string, number>
  deadExports: Record<string, string>
}
const files = sourceFiles('src', 'test', 'tools', 'bench', 'examples')
const now = measured(files)
const dead = deadExports(files)
const ratchet = {
  files: accept ? now.files : lowered(old.files, now.files),
  functions: accept ? now.functions : lowered(old.functions, now.functions),
  deadExports: Object.fromEntries(
    dead
      .filter((name) => accept || Object.hasOwn(old.deadExports, name))
      .map((name) => [name, old.deadExports[name] ?? 'accepted without a reason']),
  ),
}
writeFileSync(path, `${JSON.stringify(ratchet, null, 2)}\n`)
console.log(
  `test/tidy-ratchet.json: ${Object.keys(ratchet.files).length} files, ${Object.keys(ratchet.functions).length} functions, ${Object.keys(ratchet.deadExports).length} dead exports`,
)

function lowered(before: Record<string, number>, after: Record<string, number>): Record<string, number> {
  const kept = Object.entries(before).flatMap(([name, size]) => {
    const present = after[name]
    return present === undefined ? [] : [[name, Math.min(size, present)] as const]
  })
  return Object.fromEntries(kept.sort(([a], [b]) => (a < b ? -1 : 1)))
}
