import type { JsonObject } from '../providers/provider.ts'
import type { KeptFile, ResultKeeper } from './results-port.ts'

/** The result of a picture or film as it is kept with its task: no links, which expire. */
export function resultOf(files: readonly KeptFile[], createdSeconds: number): JsonObject {
  return { created: createdSeconds, files }
}

/** The files of a result that `resultOf` made. */
export const filesOf = (result: JsonObject): readonly KeptFile[] =>
  Array.isArray(result.files) ? (result.files as KeptFile[]) : []

/** The result as readers see it: `{created, data: [{url, expires_at, content_type, width, height}]}` (decisions 6). */
export async function presentResult(
  keeper: Pick<ResultKeeper, 'link'>,
  result: JsonObject,
  until: Date,
): Promise<JsonObject> {
  const data = await Promise.all(
    filesOf(result).map(async (file) => ({
      url: await keeper.link(file, until),
      expires_at: Math.floor(until.getTime() / 1000),
      content_type: file.contentType,
      ...(file.width === undefined ? {} : { width: file.width }),
      ...(file.height === undefined ? {} : { height: file.height }),
      bytes: file.bytes,
    })),
  )
  return { created: result.created, data }
}
