import { type Logger, pino } from 'pino'
import type { Answered } from '../http/server.ts'

export type { Logger }

/** Shapes of secrets, scrubbed from every line as the last step: keys, webhook secrets, invitations, tokens, private keys, secrets in addresses. */
const secretShapes =
  /fbx_[0-9A-Za-z]{8,}|\bwhsec_[0-9A-Za-z+/=_-]{8,}|\b(?:inv|dlg|dvc)_[0-9A-Za-z_-]{8,}|\bsk-[0-9A-Za-z_-]{8,}|\beyJ[0-9A-Za-z_-]{8,}\.[0-9A-Za-z_.-]+|\b(?:0x)?[0-9a-fA-F]{64}\b|((?:key|token|secret|password|apikey)=)[^&\s"\\]+|(:\/\/[^:/\s"]*:)[^@\s"]+(?=@)/g

/** One log line without anything that looks like a secret. */
export function scrubbed(line: string): string {
  return line.replace(
    secretShapes,
    (_match, parameter?: string, userinfo?: string) => `${parameter ?? userinfo ?? ''}[secret]`,
  )
}

/**
 * Collects lines until the event loop comes round and writes them together: one system call for many requests.
 * `flush` writes what is left, for the end of the process.
 */
export function inTurns(write: (text: string) => void): { write(line: string): void; flush(): void } {
  let waiting = ''
  const flush = (): void => {
    const text = waiting
    waiting = ''
    if (text !== '') write(text)
  }
  return {
    write(line) {
      if (waiting === '') setImmediate(flush)
      waiting += line
    },
    flush,
  }
}

/**
 * A JSON logger that says only what it was handed by name: no bodies, no headers, no addresses with their
 * query. What is written goes through `scrubbed` first.
 */
export function createLogger(options: { level: string; write: (line: string) => void }): Logger {
  return pino(
    {
      level: options.level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: { error: describeError },
    },
    { write: (line: string) => options.write(scrubbed(line)) },
  )
}

/** The allow-list of an answered request. */
export function requestLine(answered: Answered): Record<string, unknown> {
  return {
    request_id: answered.requestId,
    method: answered.method,
    route: answered.route,
    status: answered.status,
    ...(answered.code ? { code: answered.code } : {}),
    ms: Math.round(answered.durationMs * 10) / 10,
    ...(answered.accountId === undefined ? {} : { account_id: Number(answered.accountId) }),
  }
}

function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return { message: String(error) }
  const code = (error as { code?: unknown }).code
  return {
    name: error.name,
    message: error.message,
    ...(code ? { code } : {}),
    stack: error.stack,
    ...(error.cause ? { cause: describeError(error.cause) } : {}),
  }
}
