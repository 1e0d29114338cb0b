/** What one call asks the mock provider for, in the path of its address. */
export interface MockProfile {
  /** Milliseconds until the answer, or until the first chunk of a stream. */
  readonly delayMs: number
  /** Milliseconds between two chunks of a stream. */
  readonly spacingMs: number
}

/** The profiles that scenarios use. Each is a model and a provider of the generated farebox.yaml. */
export const profiles = {
  'mock-0ms': { delayMs: 0, spacingMs: 0 },
  'mock-20ms': { delayMs: 20, spacingMs: 0 },
  'mock-stream': { delayMs: 0, spacingMs: 2 },
  'mock-slow-stream': { delayMs: 0, spacingMs: 50 },
} as const satisfies Record<string, MockProfile>
export type ProfileName = keyof typeof profiles

/** Chunks of a mock stream that carry text. Before them comes the role, after them the usage and [DONE]. */
export const STREAM_CHUNKS = 30

/** What the mock says each call used. */
export const usage = { prompt_tokens: 16, completion_tokens: 32, total_tokens: 48 }

/** Prices of the generated farebox.yaml, in microcredits per million tokens. */
export const prices = { inputMicroPerM: 1_000_000, outputMicroPerM: 2_000_000 }

/** Microcredits that one call costs: the benchmark's own arithmetic, apart from the server's. */
export const CALL_MICRO = BigInt(usage.prompt_tokens) + 2n * BigInt(usage.completion_tokens)

/** The path below the mock's origin. `label` tells the sides apart in the mock's counts. */
export function mockPath(label: string, profile: ProfileName): string {
  const { delayMs, spacingMs } = profiles[profile]
  return `/${label}/${delayMs}/${spacingMs}/v1`
}

/** A request of about 500 bytes. The output bound keeps holds small beside the balance. */
export function requestBody(model: string, stream: boolean): string {
  const messages = [
    { role: 'system', content: 'You answer questions about trains, in one short paragraph.' },
    { role: 'user', content: `When does the night train leave? ${'It is late. '.repeat(20)}` },
  ]
  const streaming = stream ? { stream: true, stream_options: { include_usage: true } } : {}
  return JSON.stringify({ model, messages, max_tokens: 256, ...streaming })
}

/** The text of a whole mock stream: a lost, doubled or exchanged chunk changes it. */
export const streamText: string = Array.from({ length: STREAM_CHUNKS }, (_, n) => chunkText(n)).join('')

/** The text of the n-th chunk. */
export function chunkText(n: number): string {
  return `word-${n} `
}
