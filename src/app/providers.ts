import type { CapabilityConfig } from '../config/capabilities.ts'
import type { Config, Secrets } from '../config/config.ts'
import type { ProviderConfig } from '../config/providers.ts'
import type { Clock } from '../kernel/clock.ts'
import type { CapabilityProvider } from '../providers/capability.ts'
import { createDemoCapability } from '../providers/capability-demo/index.ts'
import { createHttpCapability } from '../providers/capability-http/index.ts'
import { createProvider } from '../providers/index.ts'
import type { ChatProvider } from '../providers/provider.ts'

/** A provider of the configuration that answers chat calls. */
type ChatProviderConfig = Exclude<ProviderConfig, { kind: 'task-api' }>

/** Opens every provider of the configuration that answers chat calls, by name. */
export function openProviders(
  config: Pick<Config, 'providers'>,
  secrets: Pick<Secrets, 'providerKeys'>,
  clock: Clock,
): Record<string, ChatProvider> {
  return Object.fromEntries(
    Object.entries(config.providers).flatMap(([name, provider]) =>
      provider.kind === 'task-api' ? [] : [[name, openProvider(name, provider, secrets.providerKeys[name], clock)]],
    ),
  )
}

/** Opens one provider. */
export function openProvider(
  name: string,
  provider: ChatProviderConfig,
  apiKey: string | undefined,
  clock: Clock,
): ChatProvider {
  if (provider.kind === 'demo') return createProvider('demo', { ...provider, clock })
  return createProvider('openai-compatible', { ...provider, name, ...(apiKey === undefined ? {} : { apiKey }) })
}

/** Opens what does the work of a capability. */
export function openCapabilityProvider(
  { slug, upstream }: CapabilityConfig,
  secretHeaders: Readonly<Record<string, string>>,
): CapabilityProvider {
  if (upstream.kind === 'demo') return createDemoCapability()
  return createHttpCapability({ ...upstream, name: slug, headers: { ...upstream.headers, ...secretHeaders } })
}
