import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Child, freePort, spawnServer, Unavailable } from './child.ts'
import type { Economy } from './database.ts'
import { mockPath, type ProfileName, prices, profiles } from './workload.ts'

const root = fileURLToPath(new URL('../', import.meta.url))

/**
 * Starts the real server on a database of the benchmark, as an operator would: `farebox serve`, a configuration
 * file, settings in the environment, its log in a file. Its providers are the mock's profiles under `label`.
 */
export async function startFarebox(options: {
  readonly economy: Economy
  readonly mockPort: number
  readonly label: string
  readonly folder: string
  /** Watched for payments, when there is one. */
  readonly chain?: { readonly rpcUrl: string; readonly recipient: string }
}): Promise<Child> {
  const { economy, label, mockPort, chain } = options
  if (!existsSync(join(root, 'src/main.ts'))) throw new Unavailable('src/main.ts does not exist')
  const folder = join(options.folder, label)
  await mkdir(folder, { recursive: true })
  const configuration = join(folder, 'farebox.yaml')
  await writeFile(configuration, configurationFor(label, mockPort, chain))
  const port = await freePort()
  // settings of whoever runs the benchmark must not change what is measured
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(FAREBOX_|DATABASE_URL|NODE_|LOG_LEVEL)/.test(name),
  )
  return spawnServer({
    args: ['src/main.ts', 'serve'],
    cwd: root,
    environment: {
      ...Object.fromEntries(inherited),
      HOST: '127.0.0.1',
      PORT: String(port),
      FAREBOX_DATA: join(folder, 'data'),
      FAREBOX_CONFIG: configuration,
      DATABASE_URL: economy.url,
      FAREBOX_KEY_PEPPER: economy.pepper,
    },
    port,
    readyPath: '/readyz',
    logFile: join(folder, 'farebox.log'),
  })
}

/** The file that an operator of these models would write. JSON is YAML. */
function configurationFor(
  label: string,
  mockPort: number,
  chain: { readonly rpcUrl: string; readonly recipient: string } | undefined,
): string {
  const names = Object.keys(profiles) as ProfileName[]
  const provider = (name: ProfileName) => ({
    kind: 'openai-compatible',
    base_url: `http://127.0.0.1:${mockPort}${mockPath(label, name)}`,
    connections: 512,
  })
  const model = (name: ProfileName) => ({
    id: name,
    name,
    context_length: 32_768,
    max_output_tokens: 4096,
    default_output_tokens: 1024,
    minimum_output_tokens: 16,
    providers: [{ provider: name, model: 'mock' }],
    prices: [
      {
        version: 1,
        effective_from: '2026-01-01T00:00:00Z',
        input_micro_per_m: prices.inputMicroPerM,
        output_micro_per_m: prices.outputMicroPerM,
      },
    ],
  })
  const content = {
    providers: Object.fromEntries(names.map((name) => [name, provider(name)])),
    models: names.map(model),
    // for polls: the mock makes no pictures, so its task fails at once and is polled as it is
    media_models: [
      {
        id: 'mock-image',
        name: 'mock-image',
        type: 'image',
        providers: [{ provider: names[0], model: 'mock' }],
        prices: [{ version: 1, effective_from: '2026-01-01T00:00:00Z', unit: 'image', unit_price_micro: 1000 }],
      },
    ],
    limits: { requests_per_minute_per_credential: 10_000_000 },
    ...(chain && { payments: { assets: { dev_usdc: { recipient: chain.recipient, rpc_urls: [chain.rpcUrl] } } } }),
  }
  return JSON.stringify(content, null, 2)
}
