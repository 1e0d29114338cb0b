import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { access, readdir, readFile } from 'node:fs/promises'
import { extname, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'

/** A file of the built console, ready to be sent. */
export interface ConsoleFile {
  readonly contentType: string
  readonly content: Buffer
  /** The same, compressed; undefined where that saves nothing. */
  readonly gzipped: Buffer | undefined
  readonly etag: string
}

/** Every file by its path below /console, such as `index.html` and `assets/home-1a2b.js`. */
export type ConsoleFiles = ReadonlyMap<string, ConsoleFile>

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}
const folder = new URL('../../console/dist/', import.meta.url)
const program = fileURLToPath(new URL('../../console/build.ts', import.meta.url))
const BUILD_TIMEOUT_MS = 120_000
const GZIP_FROM_BYTES = 1024

/** Builds the console unless `npm ci` did: true when there was something to do. */
export async function buildConsole(): Promise<boolean> {
  if (await isBuilt()) return false
  await promisify(execFile)(process.execPath, [program], { timeout: BUILD_TIMEOUT_MS })
  return true
}

const isBuilt = (): Promise<boolean> =>
  access(new URL('index.html', folder)).then(
    () => true,
    () => false,
  )

/** Reads the built console, whole. It is small, and a name that is not among these is never looked up on disk. Without a build there are no files. */
export async function readConsole(): Promise<ConsoleFiles> {
  const files = new Map<string, ConsoleFile>()
  if (!(await isBuilt())) return files
  const root = fileURLToPath(folder)
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
    const contentType = types[extname(entry.name)]
    if (!entry.isFile() || contentType === undefined) continue
    const path = join(entry.parentPath, entry.name)
    files.set(relative(root, path).replaceAll(sep, '/'), await consoleFile(contentType, await readFile(path)))
  }
  return files
}

async function consoleFile(contentType: string, content: Buffer): Promise<ConsoleFile> {
  const gzipped = content.length < GZIP_FROM_BYTES ? undefined : await promisify(gzip)(content)
  const etag = `"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`
  return { contentType, content, gzipped, etag }
}
