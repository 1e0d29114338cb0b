import { microcredits } from '../kernel/money.ts'
import {
  creditsAmount,
  networks,
  oneOf,
  type Parser,
  postgresAddress,
  privateKey,
  processName,
  publicAddress,
  secretBytes,
  text,
  wholeNumber,
} from './parsers.ts'
import type { Problem } from './problem.ts'
import type { ReadFile } from './read-file.ts'
import { closestWord } from './suggestion.ts'

/** The variables a process was started with. */
export type RawEnvironment = Readonly<Record<string, string | undefined>>

/** One row of the table of environment variables. */
export interface Variable<T, D extends T | undefined = T | undefined> {
  readonly parser: Parser<T>
  /** The value when the variable is not set. */
  readonly fallback: D
  /** The fallback in words, where the value alone does not tell. */
  readonly fallbackText?: string
  /** Secrets are also read from the file that `<NAME>_FILE` names, and are never shown. */
  readonly secret: boolean
  /** What the variable is for; printed in docs/configuration.md. */
  readonly why: string
}

const variable = <T, const D extends T | undefined>(row: Variable<T, D>): Variable<T, D> => row

/** A TCP port that is named, not chosen by the system. */
const port = wholeNumber({ minimum: 1, maximum: 65_535 })

/** Every environment variable the server reads. docs/configuration.md is generated from this table. */
export const environmentTable = {
  PORT: variable({
    parser: wholeNumber({ minimum: 0, maximum: 65_535 }),
    fallback: 8787,
    secret: false,
    why: 'The port of the API. 0 takes any free port.',
  }),
  HOST: variable({
    parser: text,
    fallback: undefined,
    fallbackText: '`127.0.0.1` in development, `0.0.0.0` for `farebox serve`',
    secret: false,
    why: 'The address the server listens on.',
  }),
  NODE_ENV: variable({
    parser: oneOf(['development', 'test', 'production']),
    fallback: undefined,
    fallbackText: 'not set',
    secret: false,
    why: 'With `production`, the development economy refuses to start: it gives Credits to well-known wallet keys.',
  }),
  LOG_LEVEL: variable({
    parser: oneOf(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']),
    fallback: 'info',
    secret: false,
    why: 'How much is logged. No level logs keys, prompts or answers.',
  }),
  DATABASE_URL: variable({
    parser: postgresAddress,
    fallback: undefined,
    fallbackText: 'in development the embedded PostgreSQL; required for `farebox serve`',
    secret: true,
    why: 'The PostgreSQL database.',
  }),
  FAREBOX_DATA: variable({
    parser: text,
    fallback: '.data',
    secret: false,
    why: 'The folder for what the server keeps outside the database; in development also the embedded database and `dev.json`.',
  }),
  FAREBOX_CONFIG: variable({
    parser: text,
    fallback: undefined,
    fallbackText: '`farebox.yaml` in the working folder, else the one that comes with the package',
    secret: false,
    why: 'The configuration file: providers, models, prices, limits.',
  }),
  FAREBOX_PUBLIC_URL: variable({
    parser: publicAddress,
    fallback: undefined,
    fallbackText: 'this machine, at HOST and PORT',
    secret: false,
    why: 'The address at which clients reach the server. `farebox serve` requires it to be https, unless HOST is loopback.',
  }),
  FAREBOX_KEY_PEPPER: variable({
    parser: secretBytes,
    fallback: undefined,
    fallbackText: 'in development made once and kept in the data folder; required for `farebox serve`',
    secret: true,
    why: 'Keys the HMAC under which API keys are stored. All processes of one database share it; with another one no API key works.',
  }),
  FAREBOX_METRICS_PORT: variable({
    parser: port,
    fallback: undefined,
    fallbackText: '`/metrics` on the main port',
    secret: false,
    why: 'A port of its own for `/metrics`, so that it need not be public.',
  }),
  FAREBOX_TRUSTED_PROXIES: variable({
    parser: networks,
    fallback: [],
    fallbackText: 'none: the peer is the client',
    secret: false,
    why: 'The proxies whose X-Forwarded-For is believed. Rate limits by address count what they name.',
  }),
  FAREBOX_DRAIN_MS: variable({
    parser: wholeNumber({ minimum: 0, maximum: 600_000 }),
    fallback: 25_000,
    secret: false,
    why: 'How long running calls may finish after SIGTERM, in milliseconds. What is left then becomes `usage_unknown`, never free.',
  }),
  FAREBOX_RELAYER_KEY: variable({
    parser: privateKey,
    fallback: undefined,
    fallbackText:
      'in development an account of the chain; required where the file has `payments.x402` without a facilitator',
    secret: true,
    why: "The private key of the account that sends the payments of x402 and pays their gas. It receives nothing and can move nobody's tokens: keep a little gas money there and nothing else.",
  }),
  FAREBOX_REVIEW_ALONE_CREDITS: variable({
    parser: creditsAmount,
    fallback: microcredits(100_000_000),
    fallbackText: '`100`',
    secret: false,
    why: 'Up to how many Credits one operator may decide a payment review alone, at the terminal or in the console. Above it a second operator has to confirm.',
  }),
  FAREBOX_PROCESS_NAME: variable({
    parser: processName,
    fallback: undefined,
    fallbackText: 'the name of the host and the process id',
    secret: false,
    why: 'Names this process in logs, metrics and database sessions.',
  }),
} as const satisfies Record<string, Variable<unknown>>

/** A variable of the table. */
export type VariableName = keyof typeof environmentTable

/** The parsed environment: a value for each row of the table. */
export type Environment = {
  readonly [N in VariableName]: (typeof environmentTable)[N] extends Variable<infer T, infer D> ? T | D : never
}

/** Names with this beginning belong to the server, so one it does not know is a mistake. */
export const OWN_PREFIX = 'FAREBOX_'

/**
 * Reads the table's variables. An empty value counts as not set. Variables that begin with FAREBOX_ and are not
 * in the table are problems; a value that could not be read has its fallback, and a problem.
 */
export function readEnvironment(
  raw: RawEnvironment,
  readFile: ReadFile,
): { environment: Environment; problems: readonly Problem[] } {
  const problems = unknownVariables(raw)
  const values: Record<string, unknown> = {}
  for (const [name, row] of Object.entries<Variable<unknown>>(environmentTable)) {
    const found = row.secret ? readSecret(raw, readFile, name) : { where: name, value: raw[name] }
    values[name] = row.fallback
    if ('problem' in found) problems.push(found)
    else if (found.value) {
      const value = row.parser.parse(found.value)
      if (value !== undefined) values[name] = value
      else
        problems.push({
          where: found.where,
          problem: 'The value cannot be used.',
          fix: `It takes ${row.parser.takes}.`,
        })
    }
  }
  // The loop gave every row of the table either what its parser returned or its fallback.
  return { environment: values as Environment, problems }
}

/** Reads a secret from the variable `name`, or from the file that `<name>_FILE` names, without its last line break. */
export function readSecret(
  raw: RawEnvironment,
  readFile: ReadFile,
  name: string,
): { where: string; value: string | undefined } | Problem {
  const path = raw[`${name}_FILE`]
  if (!path) return { where: name, value: raw[name] }
  const where = `${name}_FILE`
  if (raw[name]) return { where, problem: `${name} is set too.`, fix: 'Set only one of the two.' }
  try {
    const content = readFile(path)?.replace(/\r?\n$/, '')
    if (content) return { where, value: content }
    return {
      where,
      problem: `${path} ${content === undefined ? 'does not exist' : 'is empty'}.`,
      fix: 'Put the secret there.',
    }
  } catch (error) {
    return {
      where,
      problem: `${path} cannot be read (${reason(error)}).`,
      fix: 'Let the server read it.',
    }
  }
}

/** Why the system refused a file: its error code, which unlike the message holds no content. */
export function reason(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unreadable'
}

function unknownVariables(raw: RawEnvironment): Problem[] {
  const known = Object.entries<Variable<unknown>>(environmentTable).flatMap(([name, row]) =>
    row.secret ? [name, `${name}_FILE`] : [name],
  )
  const problems: Problem[] = []
  for (const name of Object.keys(raw)) {
    if (!name.startsWith(OWN_PREFIX) || known.includes(name)) continue
    // Compared without the prefix, which all have in common and some names do without.
    const bare = (known: string) => known.replace(OWN_PREFIX, '')
    const closest = closestWord(bare(name), known.map(bare))
    const meant = known.find((candidate) => bare(candidate) === closest)
    problems.push({
      where: name,
      problem: 'There is no such variable.',
      fix: meant === undefined ? 'Remove it; docs/configuration.md lists them.' : `Did you mean \`${meant}\`?`,
    })
  }
  return problems
}
