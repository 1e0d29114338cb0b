import type { MediaFile } from '../providers/media.ts'

/** A picture or film that is kept here, as its task remembers it. */
export interface KeptFile {
  readonly key: string
  readonly contentType: string
  readonly width: number | undefined
  readonly height: number | undefined
  readonly bytes: number
}

/** A file that cannot be a result, however often it is tried. The message says why and may be shown. */
export class ResultRefused extends Error {
  override name = 'ResultRefused'
}

/** Where results are kept, as tasks need it. */
export interface ResultKeeper {
  /**
   * Keeps what a provider made, under names that follow from the task: keeping the same again changes nothing. Rejects
   * when it cannot be fetched or kept now, and with ResultRefused when it never can.
   */
  keep(
    task: { readonly taskId: string; readonly type: 'image' | 'video' },
    files: readonly MediaFile[],
    signal: AbortSignal,
  ): Promise<readonly KeptFile[]>
  /** A link that anyone can open until then, or until the file is gone. */
  link(file: KeptFile, until: Date): Promise<string>
  /** The bytes of a kept file; undefined when it is gone. */
  read(file: KeptFile): Promise<Uint8Array | undefined>
}
