import { readFile } from 'node:fs/promises'
import { createApp } from '../src/app/app.ts'
import { createLogger } from '../src/app/logger.ts'
import { loadConfig } from '../src/config/config.ts'
import { readTextFile } from '../src/config/read-file.ts'
import { openApi } from '../src/http/openapi.ts'
import { systemClock } from '../src/kernel/clock.ts'
import { systemRandom } from '../src/kernel/random.ts'
import { apiTypes } from './generate-api-types.ts'
import type { Generated } from './generators.ts'

/** The OpenAPI document of every route that the composed server has, and its types for the SDK, with the settings of the packaged configuration. */
export async function generateOpenApi(databaseUrl: string): Promise<Generated> {
  const { version } = JSON.parse(await readFile(new URL('../package.json', import.meta.url), 'utf8')) as {
    version: string
  }
  const { config, secrets } = loadConfig({
    environment: {},
    readFile: readTextFile,
    now: systemClock.now(),
    mode: 'development',
  })
  const app = await createApp({
    config,
    secrets,
    databaseUrl,
    pepper: systemRandom.bytes(32),
    clock: systemClock,
    random: systemRandom,
    logger: createLogger({ level: 'silent', write: () => undefined }),
    version,
    host: 'generate',
    pid: process.pid,
    isRunning: () => false,
  })
  try {
    const document = `${JSON.stringify(openApi(app.routes, { version }), null, 2)}\n`
    return { 'openapi.json': document, 'sdk/src/api.d.ts': await apiTypes(document) }
  } finally {
    await app.stop(0)
  }
}
