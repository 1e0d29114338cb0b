/** The bytes in a `data:` URL of base64; undefined for every other URL. Throws RangeError beyond `bytesMax`. */
export function decodedDataUrl(url: string, bytesMax: number): Buffer | undefined {
  const head = /^data:[^,]{0,200};base64,/i.exec(url)?.[0]
  if (head === undefined) return undefined
  if ((url.length - head.length) * 0.75 > bytesMax + 3) throw new RangeError('the data URL is too large')
  return Buffer.from(url.slice(head.length), 'base64')
}
