import { Fault } from '../kernel/errors.ts'
import type { Upload } from './tasks/runner.ts'

/** What pictures a client may send may be. */
const TYPES: Readonly<Record<string, (bytes: Buffer) => boolean>> = {
  'image/png': (bytes) => bytes.subarray(0, 8).equals(Buffer.from('89504e470d0a1a0a', 'hex')),
  'image/jpeg': (bytes) => bytes.subarray(0, 3).equals(Buffer.from('ffd8ff', 'hex')),
  'image/webp': (bytes) => bytes.toString('latin1', 0, 4) === 'RIFF' && bytes.toString('latin1', 8, 12) === 'WEBP',
}
const ADDRESS_MAX = 4096

/**
 * The pictures that a request brings or names. `data:` URLs become uploads, which are kept apart from the request and
 * called `upload:1` and so on in it. Refuses more than `max`, what is no address, and what is no PNG, JPEG or WebP.
 */
export function takePictures(
  given: readonly string[],
  max: number,
): { readonly named: readonly string[]; readonly uploads: readonly Upload[] } {
  const refuse = (message: string): never => {
    throw new Fault('invalid_field', { message, fields: { field: 'image_input' } })
  }
  if (given.length > max)
    refuse(max === 0 ? 'This model takes no pictures to start from.' : `This model takes ${max} pictures at most.`)
  const uploads: Upload[] = []
  const named = given.map((picture, index) => {
    if (!picture.startsWith('data:')) {
      const isAddress = picture.length <= ADDRESS_MAX && URL.canParse(picture)
      if (!isAddress || !/^https?:$/.test(new URL(picture).protocol))
        refuse(`Picture ${index + 1} is no http(s) address and no data: URL.`)
      return picture
    }
    const comma = picture.indexOf(',')
    const bytes = Buffer.from(picture.slice(comma + 1), 'base64')
    const type = Object.keys(TYPES).find((name) => TYPES[name]?.(bytes))
    if (!picture.slice(0, comma).endsWith(';base64') || type === undefined)
      return refuse(`Picture ${index + 1} is no PNG, JPEG or WebP in base64.`)
    uploads.push({ contentType: type, bytes })
    return `upload:${uploads.length}`
  })
  return { named, uploads }
}
