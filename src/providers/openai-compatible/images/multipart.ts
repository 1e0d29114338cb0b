import { createHash } from 'node:crypto'
import type { JsonObject } from '../../provider.ts'

/** A picture for a form. */
export interface FormPicture {
  readonly bytes: Uint8Array
  readonly contentType: string
}

/** A form with fields and pictures (RFC 7578), the pictures as `image`, or `image[]` where there are several. */
export function multipart(
  fields: JsonObject,
  pictures: readonly FormPicture[],
): { readonly contentType: string; readonly body: Buffer } {
  const pieces: Buffer[] = []
  const values = Object.entries(fields).filter(([, value]) => value !== undefined && value !== null)
  // No content can hold a boundary that follows from all of it.
  const hash = createHash('sha256').update(JSON.stringify(values))
  for (const { bytes } of pictures) hash.update(bytes)
  const boundary = `farebox-${hash.digest('hex')}`
  const part = (head: string, content: Uint8Array): void => {
    pieces.push(Buffer.from(`--${boundary}\r\ncontent-disposition: form-data; ${head}\r\n\r\n`))
    pieces.push(Buffer.from(content), Buffer.from('\r\n'))
  }
  for (const [name, value] of values) {
    part(`name="${quoted(name)}"`, Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)))
  }
  const field = pictures.length === 1 ? 'image' : 'image[]'
  for (const [index, { bytes, contentType }] of pictures.entries()) {
    const ending = contentType.split('/')[1] ?? 'png'
    part(`name="${field}"; filename="image-${index + 1}.${ending}"\r\ncontent-type: ${contentType}`, bytes)
  }
  pieces.push(Buffer.from(`--${boundary}--\r\n`))
  return { contentType: `multipart/form-data; boundary=${boundary}`, body: Buffer.concat(pieces) }
}

const quoted = (name: string): string => name.replace(/["\r\n]/g, (character) => encodeURIComponent(character))
