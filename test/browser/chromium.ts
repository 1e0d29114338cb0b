import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type BrowserServer, chromium } from 'playwright-core'

const cache = fileURLToPath(new URL('../../node_modules/.cache/farebox-chromium', import.meta.url))
const installed = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
]
const EXTRACT_TIMEOUT_MS = 120_000
/** The browser asks nobody for anything by itself, and its own rules for pages stay on. */
const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--no-zygote',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-domain-reliability',
  '--disable-sync',
  '--font-render-hinting=none',
]

/** The packed browser's own list names folders of the machine it is packed for: without one font it dies at the first page. */
const FONTS = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig>
  <dir prefix="relative">fonts</dir>
  <cachedir prefix="relative">cache</cachedir>
</fontconfig>
`

/** Starts a headless Chromium for whoever connects to it: the one of node_modules, with its own libraries where the system has none; else an installed one. */
export async function startChromium(): Promise<BrowserServer> {
  const failures: unknown[] = []
  for (const candidate of await candidates()) {
    try {
      return await chromium.launchServer({ headless: true, args: ARGUMENTS, ...candidate })
    } catch (error) {
      failures.push(error)
    }
  }
  throw new AggregateError(failures, 'no Chromium starts here: install one, such as Debian’s package chromium')
}

async function candidates(): Promise<Array<{ executablePath: string; env?: Record<string, string> }>> {
  const others = installed.filter((path) => existsSync(path)).map((executablePath) => ({ executablePath }))
  if (process.platform !== 'linux' || process.arch !== 'x64') return others
  const folder = await extracted()
  const executablePath = join(folder, 'chromium')
  const environment = { ...process.env, FONTCONFIG_PATH: join(folder, 'fonts') } as Record<string, string>
  const own = { ...environment, LD_LIBRARY_PATH: join(folder, 'al2023', 'lib') }
  return [{ executablePath, env: environment }, { executablePath, env: own }, ...others]
}

/** Unpacks the packed browser once; whoever comes second uses what the first one unpacked. */
async function extracted(): Promise<string> {
  if (existsSync(join(cache, 'chromium'))) return cache
  const partial = `${cache}.${process.pid}`
  await mkdir(partial, { recursive: true })
  // the package unpacks into the temporary folder, its libraries only where it takes itself for a lambda
  const environment = { ...process.env, TMPDIR: partial, AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs22.x' }
  const script = `await (await import('@sparticuz/chromium')).default.executablePath()`
  await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    env: environment,
    timeout: EXTRACT_TIMEOUT_MS,
  })
  await writeFile(join(partial, 'fonts', 'fonts.conf'), FONTS)
  await rename(partial, cache).catch(() => rm(partial, { recursive: true, force: true }))
  return cache
}
