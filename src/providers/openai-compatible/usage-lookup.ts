import { request } from 'undici'
import { type JsonObject, type Usage, usageFrom } from '../provider.ts'
import { Scrubber } from '../scrubber.ts'

/** Where a provider keeps its own record of a call. */
export interface UsageLookupOptions {
  readonly name: string
  /** http or https, with the path up to the version. */
  readonly baseUrl: string
  readonly apiKey: string | undefined
  readonly headers: Readonly<Record<string, string>>
  /** Added to baseUrl, with `{response_id}`, `{provider_request_id}` or `{request_id}`. */
  readonly path: string
  /** Where the record has its counts: names with dots between them. */
  readonly inputTokens: string
  readonly outputTokens: string
  readonly cachedInputTokens: string | undefined
  readonly timeoutMs: number
}

/** What a call is known by. */
export type CallIds = Readonly<Partial<Record<'response_id' | 'provider_request_id' | 'request_id', string>>>

/** What the record says, or why it says nothing. The message is fit for people. */
export type LookedUp =
  | { readonly kind: 'found'; readonly usage: Usage }
  | { readonly kind: 'none'; readonly message: string }

const RECORD_BYTES_MAX = 1_048_576

/** Asks a provider for its own record of a call. Never rejects, and changes nothing anywhere. */
export async function lookUpUsage(options: UsageLookupOptions, ids: CallIds): Promise<LookedUp> {
  const { name } = options
  const missing = [...options.path.matchAll(/\{([a-z_]+)\}/g)].find(([, id]) => !ids[id as keyof CallIds])
  if (missing) return none(`${name} is asked by ${missing[1]}, which is not known of this call.`)
  const path = options.path.replace(/\{([a-z_]+)\}/g, (_, id: string) =>
    encodeURIComponent(ids[id as keyof CallIds] ?? ''),
  )
  try {
    const { statusCode, body } = await request(`${options.baseUrl}${path}`, {
      headers: {
        ...options.headers,
        accept: 'application/json',
        ...(options.apiKey === undefined ? {} : { authorization: `Bearer ${options.apiKey}` }),
      },
      signal: AbortSignal.timeout(options.timeoutMs),
    })
    let text = ''
    for await (const chunk of body.setEncoding('utf8')) {
      text += chunk
      if (text.length > RECORD_BYTES_MAX) return none(`${name} answered with more than a record.`)
    }
    if (statusCode === 404) return none(`${name} has no record of this call.`)
    if (statusCode !== 200) return none(`${name} answered ${statusCode}.`)
    return read(options, JSON.parse(text))
  } catch (error) {
    const scrubber = new Scrubber([options.apiKey, ...Object.values(options.headers)])
    return none(`${name} could not be asked: ${scrubber.clean(error instanceof Error ? error.message : 'unknown')}`)
  }
}

function read(options: UsageLookupOptions, record: unknown): LookedUp {
  const cached = options.cachedInputTokens === undefined ? undefined : at(record, options.cachedInputTokens)
  const usage = usageFrom({
    prompt_tokens: at(record, options.inputTokens),
    completion_tokens: at(record, options.outputTokens),
    prompt_tokens_details: { cached_tokens: cached },
  })
  if (usage) return { kind: 'found', usage }
  return none(
    `The record of ${options.name} has no whole numbers at ${options.inputTokens} and ${options.outputTokens}.`,
  )
}

function at(record: unknown, path: string): unknown {
  let value = record
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
    value = (value as JsonObject)[name]
  }
  return value
}

const none = (message: string): LookedUp => ({ kind: 'none', message })
