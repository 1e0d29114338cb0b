import type { MediaParts } from '../src/media/parts.ts'

/** What differs from the usual test server. */
export interface TestAppOptions {
  /** YAML to put under `limits:`. */
  readonly limits?: string
  /** More YAML under `models:`, each beginning with `  - id:`. */
  readonly models?: string
  /** YAML under `capabilities:`, each beginning with `  - slug:`. */
  readonly capabilities?: string
  /** Prices of `mock-model`, instead of the usual one: YAML of a list. */
  readonly prices?: string
  /** YAML under `media_models:`, and what those models are made with. */
  readonly mediaModels?: string
  readonly media?: MediaParts
  /** YAML to put under `payments.assets:`, in one line. */
  readonly assets?: string
  /** Put a line between server and database that can be cut. */
  readonly databaseThroughProxy?: boolean
}

/** The configuration file of a test server with these two providers. */
export const appConfiguration = (
  mock: string,
  backup: string,
  { limits, models, capabilities, prices, mediaModels, assets }: TestAppOptions,
): string => `
allow_demo: true
providers:
  demo: { kind: demo, first_token_ms: 20, token_ms: 5, timeout_ms: 50 }
  mock: { kind: openai-compatible, base_url: "${mock}", api_key_env: MOCK_API_KEY, connections: 300, headers_timeout_ms: 5000, idle_timeout_ms: 5000 }
  backup: { kind: openai-compatible, base_url: "${backup}", api_key_env: MOCK_API_KEY }
models:
  - id: mock-model
    name: Mock
    input_modalities: [text, image]
    context_length: 100000
    max_output_tokens: 4000
    default_output_tokens: 1000
    minimum_output_tokens: 16
    image_input_tokens: 100
    capabilities: { streaming: true, tools: true }
    providers: [{ provider: mock, model: upstream-a }, { provider: backup, model: upstream-b, priority: 1 }]
    prices: ${prices ?? USUAL_PRICE}
  - id: mock-alone
    name: Mock without a backup
    context_length: 100000
    max_output_tokens: 4000
    default_output_tokens: 1000
    minimum_output_tokens: 16
    providers: [{ provider: mock, model: upstream-a }]
    prices: [{ version: 1, effective_from: 2026-01-01T00:00:00Z, input_micro_per_m: 3000000, output_micro_per_m: 7000000 }]
${['chat', 'slow', 'failing', 'unmetered'].map(demoModel).join('')}${models ?? ''}
${mediaModels ? `media_models:${mediaModels}` : ''}
${capabilities === undefined ? '' : `capabilities:\n${capabilities}`}
limits: { ${limits ?? ''} }
payments: { assets: { ${assets ?? ''} } }
`

const USUAL_PRICE =
  '[{ version: 1, effective_from: 2026-01-01T00:00:00Z, input_micro_per_m: 3000000, cached_input_micro_per_m: 1000000, output_micro_per_m: 7000000 }]'

const demoModel = (name: string): string => `  - id: demo-${name}
    name: Demo ${name}
    input_modalities: [text, image]
    context_length: 32768
    max_output_tokens: 4096
    default_output_tokens: 1024
    minimum_output_tokens: 16
    image_input_tokens: 256
    capabilities: { streaming: true, tools: true }
    providers: [{ provider: demo, model: ${name} }]
    prices: [{ version: 1, effective_from: 2026-01-01T00:00:00Z, input_micro_per_m: 150000, output_micro_per_m: 600000 }]
`
