import { createDemo } from './demo/index.ts'
import { createOpenAiCompatible } from './openai-compatible/index.ts'
import type { ChatProvider } from './provider.ts'

const kinds = {
  'openai-compatible': createOpenAiCompatible,
  demo: createDemo,
}

/** Every kind of provider that a configuration may name. Another kind is a folder here and a line above. */
export type ProviderKind = keyof typeof kinds

/** The options of each kind. */
export type ProviderOptions = { readonly [K in ProviderKind]: Parameters<(typeof kinds)[K]>[0] }

/** The table of kinds, each with the function that makes one. */
export const providerKinds: {
  readonly [K in ProviderKind]: (options: ProviderOptions[K]) => ChatProvider
} = kinds

/** Makes a provider. Throws TypeError when its options cannot be meant so. Close it when done. */
export function createProvider<K extends ProviderKind>(kind: K, options: ProviderOptions[K]): ChatProvider {
  return providerKinds[kind](options)
}
