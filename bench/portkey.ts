import { execFile } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Child, freePort, spawnServer, Unavailable } from './child.ts'

/** The gateway that is compared with. Installed by the benchmark alone: the product does not depend on it. */
export const PORTKEY_VERSION = '1.15.2'

const INSTALL_MS = 180_000

/** It binds every interface and has no setting for that: loaded first, this keeps it on loopback. */
const loopback = `
const net = require('node:net')
const listen = net.Server.prototype.listen
net.Server.prototype.listen = function (...args) {
  if (typeof args[0] === 'number') return listen.call(this, { port: args[0], host: '127.0.0.1' }, args.find((arg) => typeof arg === 'function'))
  if (args[0] && args[0].port != null) args[0].host = '127.0.0.1'
  return listen.apply(this, args)
}
`

/** Installs Portkey's gateway into a folder below `cache`, once. Throws Unavailable when npm cannot. */
export async function installPortkey(cache: string): Promise<string> {
  const folder = join(cache, `portkey-${PORTKEY_VERSION}`)
  const installed = await readFile(join(folder, 'node_modules/@portkey-ai/gateway/package.json'), 'utf8').catch(
    () => '{}',
  )
  if ((JSON.parse(installed) as { version?: string }).version === PORTKEY_VERSION) return folder
  await mkdir(folder, { recursive: true })
  const manifest = {
    private: true,
    dependencies: { '@portkey-ai/gateway': PORTKEY_VERSION },
    // with newer ones every streamed call of this version answers 500
    overrides: { '@hono/node-server': '1.13.5', hono: '4.9.7' },
  }
  await writeFile(join(folder, 'package.json'), JSON.stringify(manifest))
  await writeFile(join(folder, 'loopback.cjs'), loopback)
  try {
    await promisify(execFile)('npm', ['install', '--no-audit', '--no-fund'], {
      cwd: folder,
      timeout: INSTALL_MS,
    })
  } catch (error) {
    const said = (error as { stderr?: string }).stderr?.trim().split('\n').slice(0, 3).join('\n')
    throw new Unavailable(
      `npm could not install @portkey-ai/gateway ${PORTKEY_VERSION}: ${said || (error as Error).message}`,
    )
  }
  return folder
}

/** Starts it on a free port of loopback. */
export async function startPortkey(cache: string, logFile: string): Promise<Child> {
  const folder = await installPortkey(cache)
  const port = await freePort()
  const program = 'node_modules/@portkey-ai/gateway/build/start-server.js'
  return spawnServer({
    args: ['-r', './loopback.cjs', program, `--port=${port}`, '--headless'],
    cwd: folder,
    environment: { PATH: process.env.PATH, NODE_ENV: 'production' },
    port,
    readyPath: '/',
    logFile,
  })
}
