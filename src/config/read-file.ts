import { readFileSync } from 'node:fs'

/** Reads a text file; undefined when there is none at `path`. Throws when it is there and cannot be read. */
export type ReadFile = (path: string) => string | undefined

/** Settings and secrets are small; more than this is the wrong file. */
const BYTES_MAX = 1_048_576

/** Reads from the disk. Refuses anything over 1 MiB. */
export const readTextFile: ReadFile = (path) => {
  let content: Buffer
  try {
    content = readFileSync(path)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
  if (content.length > BYTES_MAX) throw new RangeError(`${path} is larger than 1 MiB`)
  return content.toString('utf8')
}
