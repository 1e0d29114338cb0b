import { type Config, loadConfig, type Secrets } from '../config/config.ts'
import { buildConsole } from '../console/files.ts'
import { type App, createApp } from './app.ts'
import { createLogger, inTurns } from './logger.ts'

import type { ProgramSurroundings } from './surroundings.ts'

/** A server that listens. */
export interface Serving {
  readonly app: App
  readonly address: string
  /** Resolves once the server has ended in order, after a signal. */
  readonly ended: Promise<void>
}

/** Composes the server and listens. `database` and `pepper` come from the environment, or from the development economy. */
export async function serve(
  around: ProgramSurroundings,
  settings: { config: Config; secrets: Secrets; databaseUrl: string; pepper: Buffer; logLevel: string },
): Promise<Serving> {
  const { config } = settings
  const lines = inTurns(around.write)
  const logger = createLogger({ level: settings.logLevel, write: lines.write })
  // asked while it starts, a server reads the file in any case
  let reload = (): void => undefined
  around.onReload(() => reload())
  await buildConsole().then(
    (built) => built && logger.info('built the console'),
    (error: unknown) =>
      logger.warn({ error }, 'the console could not be built: run npm ci. The API is served all the same'),
  )
  const { environment, readFile, clock, askToReload } = around
  const load = () => loadConfig({ environment, readFile, now: clock.now(), mode: config.mode })
  const app = await createApp({ ...around, ...settings, logger, reading: { load, askToReload } })
  const metricsServer =
    config.metricsPort === undefined ? undefined : await listenForMetrics(app, config.host, config.metricsPort)
  const address = await app.server.listen({ host: config.host, port: config.port }).catch(async (error: unknown) => {
    await app.stop(0)
    const taken = (error as { code?: unknown }).code === 'EADDRINUSE'
    throw taken
      ? new Error(
          `Port ${config.port} is in use. Stop what listens there, or choose another: PORT=${config.port + 1} npm start`,
          { cause: error },
        )
      : error
  })
  const ended = new Promise<void>((resolve, reject) => {
    around.onStop((signal) => {
      logger.info({ signal }, 'stopping: no new calls, running ones may finish')
      app.stop(config.drainMs).then(() => {
        metricsServer?.close()
        logger.info('stopped')
        lines.flush()
        resolve()
      }, reject)
    })
  })
  reload = () => void app.reload(load)
  logger.info({ address }, 'listening')
  return { app, address, ended }
}

async function listenForMetrics(app: App, host: string, port: number) {
  const { createServer } = await import('node:http')
  const server = createServer((request, response) => {
    if (request.url !== '/metrics') {
      response.writeHead(404).end()
      return
    }
    app.metrics.registry.metrics().then(
      (text) => response.writeHead(200, { 'content-type': app.metrics.registry.contentType }).end(text),
      () => response.writeHead(500).end('the metrics could not be collected'),
    )
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  return server
}
