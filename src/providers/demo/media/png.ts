import { crc32, deflateSync } from 'node:zlib'

/** A picture as rows of red, green and blue bytes. */
export interface Pixels {
  readonly width: number
  readonly height: number
  readonly rgb: Uint8Array
}

/** Writes a picture as PNG, 8 bits a channel; `text` is kept inside it under a keyword (PNG, tEXt: Latin-1). */
export function png(
  { width, height, rgb }: Pixels,
  text: { readonly keyword: string; readonly value: string },
): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, 2, 0, 0, 0], 8)
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    chunk('tEXt', Buffer.from(`${text.keyword}\0${text.value}`, 'latin1')),
    chunk('IDAT', deflateSync(filtered(width, height, rgb), { level: 4 })),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

/** Each row as its difference to the one above (filter 2): what changes slowly compresses well. */
function filtered(width: number, height: number, rgb: Uint8Array): Buffer {
  const stride = width * 3
  const rows = Buffer.alloc(height * (stride + 1))
  for (let row = 0; row < height; row += 1) {
    const start = row * (stride + 1)
    rows[start] = 2
    for (let index = 0; index < stride; index += 1) {
      const at = row * stride + index
      rows[start + 1 + index] = (rgb[at] ?? 0) - (row === 0 ? 0 : (rgb[at - stride] ?? 0))
    }
  }
  return rows
}

function chunk(type: string, data: Buffer): Buffer {
  const name = Buffer.from(type, 'latin1')
  const ends = Buffer.alloc(8)
  ends.writeUInt32BE(data.length, 0)
  ends.writeUInt32BE(crc32(data, crc32(name)), 4)
  return Buffer.concat([ends.subarray(0, 4), name, data, ends.subarray(4)])
}
