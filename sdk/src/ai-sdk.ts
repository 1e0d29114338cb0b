import { type MetadataExtractor, OpenAICompatibleChatLanguageModel } from '@ai-sdk/openai-compatible'
import { z } from 'zod/v4'

/** Where the models are, and who calls them. */
export interface FareboxProviderOptions {
  /** Such as `https://api.example.com`, without a path. */
  readonly baseUrl: string
  /** An API key or an access token. A function is asked before every call: `auth.accessToken` of a client is one. */
  readonly apiKey: string | (() => Promise<string>)
  readonly headers?: Readonly<Record<string, string>>
  readonly fetch?: typeof fetch
}

/** Our errors are flat, those inside a stream are OpenAI's. */
const errorSchema = z.union([
  z.looseObject({ message: z.string(), code: z.string(), error: z.string() }),
  z.looseObject({ error: z.looseObject({ message: z.string() }) }),
])
type Refusal = z.infer<typeof errorSchema>

const messageOf = (refusal: Refusal): string =>
  typeof refusal.error === 'string' ? String(refusal.message) : refusal.error.message

/** `providerMetadata.farebox.costMicro` of an answer. */
const costs: MetadataExtractor = {
  extractMetadata: async ({ parsedBody }) => metadataOf(parsedBody),
  createStreamExtractor() {
    let found: ReturnType<typeof metadataOf>
    return {
      processChunk(chunk) {
        found = metadataOf(chunk) ?? found
      },
      buildMetadata: () => found,
    }
  },
}

function metadataOf(body: unknown): { farebox: { costMicro: number } } | undefined {
  const cost = (body as { usage?: { cost_micro?: unknown } | null } | null)?.usage?.cost_micro
  return typeof cost === 'number' ? { farebox: { costMicro: cost } } : undefined
}

/**
 * A provider for the AI SDK (`generateText`, `streamText`): errors carry the server's own message, only what may pass
 * is retried (never 402 or 409), and `providerMetadata.farebox.costMicro` says what a call cost. Its retries are new
 * calls unless you pass `headers: { 'idempotency-key': ... }`.
 */
export function createFareboxProvider(
  options: FareboxProviderOptions,
): (modelId: string) => OpenAICompatibleChatLanguageModel {
  const baseUrl = options.baseUrl.replace(/\/+$/, '')
  const { apiKey } = options
  const tokenOf = typeof apiKey === 'string' ? async () => apiKey : apiKey
  return (modelId) =>
    new OpenAICompatibleChatLanguageModel(modelId, {
      provider: 'farebox.chat',
      url: ({ path }) => `${baseUrl}/v1${path}`,
      headers: async () => ({ ...options.headers, authorization: `Bearer ${await tokenOf()}` }),
      ...(options.fetch ? { fetch: options.fetch } : {}),
      includeUsage: true,
      supportsStructuredOutputs: true,
      metadataExtractor: costs,
      errorStructure: {
        errorSchema,
        errorToMessage: messageOf,
        isRetryable: ({ status, headers }) =>
          headers.get('x-should-retry') !== 'false' && (status === 429 || status >= 500),
      },
    })
}
