import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** The generator lives in the SDK's own folder: it needs an older compiler than ours. */
const program = fileURLToPath(
  new URL('../node_modules/@farebox/sdk/node_modules/openapi-typescript/bin/cli.js', import.meta.url),
)
const TIMEOUT_MS = 60_000

/** The types of every path and schema of an OpenAPI document, as a TypeScript declaration file. */
export async function apiTypes(openApiText: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'farebox-api-types-'))
  try {
    const [document, types] = [join(folder, 'openapi.json'), join(folder, 'api.d.ts')]
    await writeFile(document, openApiText)
    await promisify(execFile)(process.execPath, [program, document, '-o', types], { timeout: TIMEOUT_MS })
    return await readFile(types, 'utf8')
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
