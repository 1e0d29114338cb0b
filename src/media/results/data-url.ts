import { SpoolFull } from '../../storage/spool.ts'

/** The bytes in a `data:` URL of base64; undefined for every other URL. Throws SpoolFull beyond `bytesMax`. */
export function decodedDataUrl(url: string, bytesMax: number): Buffer | undefined {
  const head = /^data:[^,]{0,200};base64,/i.exec(url)?.[0]
  if (head === undefined) return undefined
  if ((url.length - head.length) * 0.75 > bytesMax + 3) throw new SpoolFull()
  return Buffer.from(url.slice(head.length), 'base64')
}
