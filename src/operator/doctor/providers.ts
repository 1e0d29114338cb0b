import { connect } from 'node:net'
import type { Config } from '../../config/config.ts'
import { type Check, failed, ok, skipped } from './check.ts'

const CONNECT_TIMEOUT_MS = 3000

/** Whether each provider's address can be connected to; nothing is sent there. */
export async function checkProviders(config: Config, options: { offline: boolean }): Promise<Check[]> {
  return Promise.all(
    Object.entries(config.providers).map(async ([name, provider]) => {
      const title = `provider ${name}`
      if (provider.kind === 'demo') return ok(title, 'built in')
      const url = new URL(provider.baseUrl)
      const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port)
      if (options.offline) return skipped(title, `${url.hostname}:${port}, not asked (--offline)`)
      const problem = await connectProblem(url.hostname.replace(/^\[|\]$/g, ''), port)
      if (problem === undefined) return ok(title, `${url.hostname}:${port} answers`)
      return failed(
        title,
        `${url.hostname}:${port} cannot be reached (${problem})`,
        'Correct `base_url`, or look at DNS, firewall and the provider.',
      )
    }),
  )
}

/** Why no connection could be made; undefined when one could. */
function connectProblem(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host, port })
    // covers the look-up of the name too, which the socket's own timeout does not
    const timer = setTimeout(() => finish(`no answer in ${CONNECT_TIMEOUT_MS / 1000} s`), CONNECT_TIMEOUT_MS)
    const finish = (problem: string | undefined): void => {
      clearTimeout(timer)
      socket.destroy()
      resolve(problem)
    }
    socket.once('connect', () => finish(undefined))
    socket.once('error', (error: NodeJS.ErrnoException) => finish(error.code ?? 'no connection'))
  })
}
