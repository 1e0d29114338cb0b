import { crc32, deflateSync, inflateSync } from 'node:zlib'

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
const COLOURS_MAX = 256
const FREQUENT_MAX = 192
const CANDIDATES_MAX = 4000

/** A picture of a page with at most 256 colours: the same to the eye, and a fraction of the size. Takes what Chromium writes: eight bits a channel, not interlaced. */
export function withPalette(png: Buffer): Buffer {
  const { width, height, pixels } = decode(png)
  const counts = new Map<number, number>()
  for (const pixel of pixels) counts.set(pixel, (counts.get(pixel) ?? 0) + 1)
  const palette = paletteOf([...counts].toSorted(([, a], [, b]) => b - a).map(([colour]) => colour))
  const index = new Map(palette.map((colour, n) => [colour, n]))
  for (const colour of counts.keys()) if (!index.has(colour)) index.set(colour, nearest(palette, colour))
  const rows = Buffer.alloc(height * (width + 1))
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) rows[y * (width + 1) + 1 + x] = index.get(pixels[y * width + x] ?? 0) ?? 0
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, 3, 0, 0, 0], 8)
  const colours = Buffer.from(palette.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255]))
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    chunk('PLTE', colours),
    chunk('IDAT', deflateSync(rows, { level: 9, memLevel: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const length = Buffer.alloc(4)
  length.writeUInt32BE(data.length)
  const sum = Buffer.alloc(4)
  sum.writeUInt32BE(crc32(named))
  return Buffer.concat([length, named, sum])
}

/** The most frequent colours, and of the others those that are least like any taken before: a small icon keeps its own. */
function paletteOf(byFrequency: readonly number[]): number[] {
  const palette = byFrequency.slice(0, FREQUENT_MAX)
  const rest = byFrequency.slice(FREQUENT_MAX, CANDIDATES_MAX)
  const far = rest.map((colour) => distance(colour, palette[nearest(palette, colour)] ?? 0))
  while (palette.length < COLOURS_MAX && palette.length < byFrequency.length) {
    const farthest = far.indexOf(Math.max(...far))
    const taken = rest[farthest]
    if (taken === undefined || far[farthest] === 0) break
    palette.push(taken)
    for (const [n, colour] of rest.entries()) far[n] = Math.min(far[n] ?? 0, distance(colour, taken))
  }
  return palette
}

const distance = (one: number, other: number): number =>
  [16, 8, 0].reduce((sum, shift) => sum + (((one >> shift) & 255) - ((other >> shift) & 255)) ** 2, 0)

function nearest(palette: readonly number[], colour: number): number {
  let best = 0
  let smallest = Number.POSITIVE_INFINITY
  for (const [n, candidate] of palette.entries()) {
    const apart = distance(candidate, colour)
    if (apart < smallest) [best, smallest] = [n, apart]
  }
  return best
}

/** Pixels as 0xRRGGBB; transparency is left out, because pages have none. */
function decode(png: Buffer): { width: number; height: number; pixels: Uint32Array } {
  const width = png.readUInt32BE(16)
  const height = png.readUInt32BE(20)
  const channels = png[25] === 6 ? 4 : 3
  const parts: Buffer[] = []
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at))
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT')
      parts.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)))
  const raw = inflateSync(Buffer.concat(parts))
  const stride = width * channels
  const pixels = new Uint32Array(width * height)
  let above = new Uint8Array(stride)
  for (let y = 0; y < height; y++) {
    const start = y * (stride + 1)
    const row = new Uint8Array(raw.subarray(start + 1, start + 1 + stride))
    unfilter(row, above, { filter: raw[start] ?? 0, channels })
    for (let x = 0; x < width; x++) {
      const at = x * channels
      pixels[y * width + x] = ((row[at] ?? 0) << 16) | ((row[at + 1] ?? 0) << 8) | (row[at + 2] ?? 0)
    }
    above = row
  }
  return { width, height, pixels }
}

/** Undoes a row's filter, in place (PNG, section 9). */
function unfilter(
  row: Uint8Array,
  above: Uint8Array,
  { filter, channels }: { filter: number; channels: number },
): void {
  for (let at = 0; at < row.length; at++) {
    const left = at < channels ? 0 : (row[at - channels] ?? 0)
    const up = above[at] ?? 0
    const corner = at < channels ? 0 : (above[at - channels] ?? 0)
    const predicted = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter] ?? 0
    row[at] = (row[at] ?? 0) + predicted
  }
}

function paeth(left: number, up: number, corner: number): number {
  const guess = left + up - corner
  const [a, b, c] = [Math.abs(guess - left), Math.abs(guess - up), Math.abs(guess - corner)]
  if (a <= b && a <= c) return left
  return b <= c ? up : corner
}
