import { createHash } from 'node:crypto'
import { mkdir, open, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'

/** A file that is being written, of unknown content and length. */
export interface Spooled {
  /** Throws SpoolFull beyond the limit. */
  write(piece: Uint8Array): Promise<void>
  /** Makes it durable. */
  finish(): Promise<{ readonly path: string; readonly bytes: number; readonly sha256: string }>
  /** Some of its bytes, fewer at its end. */
  at(offset: number, length: number): Promise<Buffer>
  /** Removes it, unless it was taken over already. */
  discard(): Promise<void>
}

/** More bytes came than a file may have. */
export class SpoolFull extends Error {
  override name = 'SpoolFull'
}

/** Begins a file in `folder`. Give it up with `discard`, always. */
export async function spool(folder: string, name: string, bytesMax: number): Promise<Spooled> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const path = join(folder, name)
  const file = await open(path, 'wx+', 0o600)
  const hash = createHash('sha256')
  let bytes = 0
  let isOpen = true
  const close = async (): Promise<void> => {
    if (isOpen) await file.close()
    isOpen = false
  }
  return {
    async write(piece) {
      if (bytes + piece.length > bytesMax) throw new SpoolFull()
      hash.update(piece)
      await file.write(piece, 0, piece.length, bytes)
      bytes += piece.length
    },
    async finish() {
      await file.sync()
      await close()
      return { path, bytes, sha256: hash.digest('hex') }
    },
    async at(offset, length) {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, offset)
      return buffer.subarray(0, bytesRead)
    },
    async discard() {
      await close()
      await rm(path, { force: true })
    },
  }
}

/** Removes what a crash left in the folder: files that nobody wrote to since `before`. */
export async function sweep(folder: string, before: Date): Promise<number> {
  let swept = 0
  for (const name of await readdir(folder).catch(() => [])) {
    const path = join(folder, name)
    const found = await stat(path).catch(() => undefined)
    if (!found || found.mtimeMs >= before.getTime()) continue
    await rm(path, { force: true })
    swept += 1
  }
  return swept
}
