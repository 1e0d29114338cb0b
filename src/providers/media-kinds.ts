import { createDemoMedia } from './demo/media/index.ts'
import type { MediaProvider } from './media.ts'
import { createOpenAiImages } from './openai-compatible/images/index.ts'
import { createTaskApi } from './task-api/index.ts'

const kinds = {
  demo: createDemoMedia,
  'openai-compatible': createOpenAiImages,
  'task-api': createTaskApi,
}

/** Every kind of provider that makes pictures or films. Another kind is a folder here and a line above. */
export type MediaProviderKind = keyof typeof kinds

/** The options of each kind. */
export type MediaProviderOptions = { readonly [K in MediaProviderKind]: Parameters<(typeof kinds)[K]>[0] }

const makers: {
  readonly [K in MediaProviderKind]: (options: MediaProviderOptions[K]) => MediaProvider
} = kinds

/** Makes a provider. Throws TypeError when its options cannot be meant so. Close it when done. */
export function createMediaProvider<K extends MediaProviderKind>(
  kind: K,
  options: MediaProviderOptions[K],
): MediaProvider {
  return makers[kind](options)
}
