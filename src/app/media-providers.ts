import type { ProviderConfig } from '../config/providers.ts'
import type { MediaProvider } from '../providers/media.ts'
import { createMediaProvider } from '../providers/media-kinds.ts'
import type { Surroundings } from './server-surroundings.ts'

/** The providers that make pictures or films, by name. Whether one also chats is a matter of its own. */
export function openMediaProviders({
  config,
  secrets,
  clock,
}: Pick<Surroundings, 'config' | 'secrets' | 'clock'>): Record<string, MediaProvider> {
  return Object.fromEntries(
    Object.entries(config.providers).map(([name, provider]) => [
      name,
      openMediaProvider(name, provider, { secrets, clock }),
    ]),
  )
}

function openMediaProvider(
  name: string,
  provider: ProviderConfig,
  { secrets, clock }: Pick<Surroundings, 'secrets' | 'clock'>,
): MediaProvider {
  if (provider.kind === 'demo') return createMediaProvider('demo', { slowMs: provider.slowMediaMs, clock })
  const apiKey = secrets.providerKeys[name]
  const reached = { name, ...(apiKey === undefined ? {} : { apiKey }) }
  if (provider.kind === 'openai-compatible')
    return createMediaProvider('openai-compatible', { ...provider, ...reached })
  const { callback, ...described } = provider
  const secret = secrets.callbackSecrets[name]
  const { signature } = callback ?? {}
  const signed =
    signature && secret !== undefined ? { by: { ...signature, secret }, reading: signature.reading } : undefined
  return createMediaProvider('task-api', {
    ...described,
    ...reached,
    ...(callback && { callback: { id: callback.id, ...(signed && { signed }) } }),
    now: () => clock.now().getTime(),
  })
}
