import { environmentTable, OWN_PREFIX, type RawEnvironment, readSecret } from './environment.ts'
import type { CheckedFile } from './file.ts'
import { isPlainHttp } from './parsers.ts'
import type { Problem } from './problem.ts'
import type { ReadFile } from './read-file.ts'
import type { ConfigurationFile } from './schema.ts'
import { resolveTaskApi, type TaskApiConfig } from './task-api.ts'

/** How a provider is reached. Its key is in Secrets.providerKeys. */
export type ProviderConfig =
  | {
      readonly kind: 'demo'
      readonly firstTokenMs: number
      readonly tokenMs: number
      readonly timeoutMs: number
      readonly slowMediaMs: number
    }
  | {
      readonly kind: 'openai-compatible'
      /** Without a trailing slash. */
      readonly baseUrl: string
      /** The variable that holds the key; undefined: no key is sent. */
      readonly apiKeyEnv: string | undefined
      /** Names in lower case. */
      readonly headers: Readonly<Record<string, string>>
      readonly connections: number
      readonly connectTimeoutMs: number
      readonly headersTimeoutMs: number
      readonly idleTimeoutMs: number
      readonly maxResponseBytes: number
      /** Where the provider's own record of a call is found; paths into its JSON, with dots. */
      readonly usageLookup:
        | {
            readonly path: string
            readonly inputTokens: string
            readonly outputTokens: string
            readonly cachedInputTokens: string | undefined
          }
        | undefined
    }
  | TaskApiConfig

type FileProvider = ConfigurationFile['providers'][string]

/** Headers that carry credentials or belong to the connection. */
export const HEADER_REFUSED =
  /authori[sz]ation|api-?key|token|secret|cookie|password|^(host|connection|content-length|content-type|transfer-encoding|upgrade|te|trailer|expect)$/i

/** The providers of the file, their keys from the environment, and what is wrong with them. */
export function readProviders(
  file: CheckedFile,
  raw: RawEnvironment,
  readFile: ReadFile,
): {
  providers: Readonly<Record<string, ProviderConfig>>
  providerKeys: Readonly<Record<string, string>>
  callbackSecrets: Readonly<Record<string, string>>
  problems: readonly Problem[]
} {
  const problems: Problem[] = []
  // No prototype: a name is only there when the file has it.
  const providers: Record<string, ProviderConfig> = Object.create(null)
  const providerKeys: Record<string, string> = Object.create(null)
  const callbackSecrets: Record<string, string> = Object.create(null)
  for (const [name, provider] of Object.entries(file.content.providers)) {
    providers[name] = resolveProvider(provider)
    if (provider.kind === 'demo') continue
    const refuse = (key: string, problem: string, fix: string) =>
      problems.push({
        where: file.place(provider, key),
        problem: `Provider \`${name}\`: ${problem}`,
        fix,
      })
    if (!URL.canParse(provider.base_url) || !isPlainHttp(new URL(provider.base_url))) {
      refuse('base_url', 'this is no address.', 'Write it like `https://api.example.com/v1`.')
    }
    for (const header of Object.keys(provider.headers)) {
      if (HEADER_REFUSED.test(header)) {
        problems.push({
          where: file.place(provider.headers, header),
          problem: `Provider \`${name}\`: the header \`${header}\` cannot be set here.`,
          fix: 'A key belongs in the variable that `api_key_env` names.',
        })
      }
    }
    const key =
      provider.api_key_env === undefined
        ? undefined
        : namedSecret({ variable: provider.api_key_env, raw, readFile }, (problem, fix) =>
            refuse('api_key_env', problem, fix),
          )
    if (key !== undefined) providerKeys[name] = key
    if (provider.kind !== 'task-api') continue
    const refuseIn = (object: object, key: string, problem: string, fix: string) =>
      problems.push({ where: file.place(object, key), problem: `Provider \`${name}\`: ${problem}`, fix })
    if (!isJsonObject(provider.submit.body))
      refuseIn(provider.submit, 'body', 'the template is not a JSON object.', 'Holes stand in quotes: "{{model}}".')
    const signature = provider.callback?.signature
    const secret =
      signature &&
      namedSecret({ variable: signature.secret_env, raw, readFile, remove: 'signature' }, (problem, fix) =>
        refuseIn(signature, 'secret_env', problem, fix),
      )
    if (secret !== undefined) callbackSecrets[name] = secret
  }
  return { providers, providerKeys, callbackSecrets, problems }
}

/**
 * The secret in the variable that the file names; what is wrong with it goes to `refuse`. `remove` is what could be
 * left out instead.
 */
export function namedSecret(
  {
    variable,
    raw,
    readFile,
    pattern = /^[!-~]+$/,
    remove = 'the provider',
  }: {
    variable: string
    raw: RawEnvironment
    readFile: ReadFile
    /** What the secret may be made of; a whole header value may have spaces. */
    pattern?: RegExp
    /** What could be removed instead. */
    remove?: string
  },
  refuse: (problem: string, fix: string) => void,
): string | undefined {
  // Otherwise a typo could send the database's password to a provider.
  if (variable.startsWith(OWN_PREFIX) || Object.hasOwn(environmentTable, variable)) {
    refuse(`\`${variable}\` is a variable of the server itself.`, 'Keep the key in a variable of its own.')
    return undefined
  }
  const found = readSecret(raw, readFile, variable)
  if ('problem' in found) refuse(`${found.where}: ${found.problem}`, found.fix)
  else if (!found.value)
    refuse(`\`${variable}\` is not set.`, `Set ${variable} or ${variable}_FILE, or remove ${remove}.`)
  else if (!pattern.test(found.value)) refuse(`${found.where} has spaces or line breaks.`, 'Set it to the key alone.')
  else return found.value
  return undefined
}

function isJsonObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
  } catch {
    return false
  }
}

function resolveProvider(provider: FileProvider): ProviderConfig {
  if (provider.kind === 'task-api') return resolveTaskApi(provider)
  if (provider.kind === 'demo') {
    return {
      kind: 'demo',
      firstTokenMs: provider.first_token_ms,
      tokenMs: provider.token_ms,
      timeoutMs: provider.timeout_ms,
      slowMediaMs: provider.slow_media_ms,
    }
  }
  return {
    kind: 'openai-compatible',
    baseUrl: provider.base_url.replace(/\/+$/, ''),
    apiKeyEnv: provider.api_key_env,
    headers: Object.fromEntries(Object.entries(provider.headers).map(([name, value]) => [name.toLowerCase(), value])),
    connections: provider.connections,
    connectTimeoutMs: provider.connect_timeout_ms,
    headersTimeoutMs: provider.headers_timeout_ms,
    idleTimeoutMs: provider.idle_timeout_ms,
    maxResponseBytes: provider.max_response_bytes,
    usageLookup: provider.usage_lookup && {
      path: provider.usage_lookup.path,
      inputTokens: provider.usage_lookup.input_tokens,
      outputTokens: provider.usage_lookup.output_tokens,
      cachedInputTokens: provider.usage_lookup.cached_input_tokens,
    },
  }
}
