/** What a file is, by its bytes alone. */
export interface Sniffed {
  readonly kind: 'image' | 'video'
  readonly contentType: string
  /** Without the dot. */
  readonly ending: string
  /** In pixels; undefined where the file does not say. */
  readonly width: number | undefined
  readonly height: number | undefined
}

/** Some bytes of a file, fewer at its end. */
export type ReadAt = (offset: number, length: number) => Promise<Buffer>

type Measures = Pick<Sniffed, 'width' | 'height'>

interface Format extends Omit<Sniffed, 'width' | 'height'> {
  readonly matches: (head: Buffer) => boolean
  readonly measure: (head: Buffer, readAt: ReadAt) => Measures | Promise<Measures>
}

const HEAD_BYTES = 4096
const UNKNOWN: Measures = { width: undefined, height: undefined }

/** Tells pictures and films that browsers show from everything else, which is undefined. Names and headers count for nothing. */
export async function sniff(readAt: ReadAt): Promise<Sniffed | undefined> {
  const head = await readAt(0, HEAD_BYTES)
  const format = formats.find(({ matches }) => matches(head))
  if (!format) return undefined
  const { kind, contentType, ending } = format
  const { width, height } = await format.measure(head, readAt)
  const sane = (side: number | undefined): number | undefined => (side && side <= SIDE_MAX ? side : undefined)
  return { kind, contentType, ending, width: sane(width), height: sane(height) }
}

/** A larger side is a lie or a parsing mistake. */
const SIDE_MAX = 1_000_000

const begins = (head: Buffer, text: string, at = 0): boolean => head.toString('latin1', at, at + text.length) === text

const formats: readonly Format[] = [
  {
    kind: 'image',
    contentType: 'image/png',
    ending: 'png',
    matches: (head) => begins(head, '\x89PNG\r\n\x1a\n') && begins(head, 'IHDR', 12),
    measure: (head) => measured(head, 24, () => [head.readUInt32BE(16), head.readUInt32BE(20)]),
  },
  {
    kind: 'image',
    contentType: 'image/jpeg',
    ending: 'jpg',
    matches: (head) => begins(head, '\xff\xd8\xff'),
    measure: (_head, readAt) => jpegMeasures(readAt),
  },
  {
    kind: 'image',
    contentType: 'image/webp',
    ending: 'webp',
    matches: (head) => begins(head, 'RIFF') && begins(head, 'WEBP', 8),
    measure: webpMeasures,
  },
  {
    kind: 'image',
    contentType: 'image/gif',
    ending: 'gif',
    matches: (head) => begins(head, 'GIF87a') || begins(head, 'GIF89a'),
    measure: (head) => measured(head, 10, () => [head.readUInt16LE(6), head.readUInt16LE(8)]),
  },
  {
    kind: 'image',
    contentType: 'image/avif',
    ending: 'avif',
    matches: (head) => begins(head, 'ftypavi', 4),
    measure: (head) => {
      const at = head.indexOf('ispe')
      return at < 0 ? UNKNOWN : measured(head, at + 16, () => [head.readUInt32BE(at + 8), head.readUInt32BE(at + 12)])
    },
  },
  {
    kind: 'video',
    contentType: 'video/quicktime',
    ending: 'mov',
    matches: (head) => begins(head, 'ftypqt', 4),
    measure: (_head, readAt) => mp4Measures(readAt),
  },
  {
    kind: 'video',
    contentType: 'video/mp4',
    ending: 'mp4',
    matches: (head) => /^(isom|iso\d|mp4[12]|avc1|M4V |MSNV|dash|f4v )$/.test(brandOf(head)),
    measure: (_head, readAt) => mp4Measures(readAt),
  },
  {
    kind: 'video',
    contentType: 'video/webm',
    ending: 'webm',
    matches: (head) => begins(head, '\x1a\x45\xdf\xa3') && head.subarray(0, 64).includes('webm'),
    measure: (_head, readAt) => webmMeasures(readAt),
  },
  {
    kind: 'video',
    contentType: 'video/x-msvideo',
    ending: 'avi',
    matches: (head) => begins(head, 'RIFF') && begins(head, 'AVI ', 8),
    measure: (head) =>
      begins(head, 'avih', 24) ? measured(head, 72, () => [head.readUInt32LE(64), head.readUInt32LE(68)]) : UNKNOWN,
  },
]

const brandOf = (head: Buffer): string => (begins(head, 'ftyp', 4) ? head.toString('latin1', 8, 12) : '')

/** The two numbers, when the head reaches so far. */
function measured(head: Buffer, needs: number, read: () => readonly [number, number]): Measures {
  if (head.length < needs) return UNKNOWN
  const [width, height] = read()
  return { width, height }
}

function webpMeasures(head: Buffer): Measures {
  if (begins(head, 'VP8X', 12))
    return measured(head, 30, () => [head.readUIntLE(24, 3) + 1, head.readUIntLE(27, 3) + 1])
  if (begins(head, 'VP8L', 12)) {
    return measured(head, 25, () => {
      const bits = head.readUInt32LE(21)
      return [(bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1]
    })
  }
  return measured(head, 30, () => [head.readUInt16LE(26) & 0x3fff, head.readUInt16LE(28) & 0x3fff])
}

/** How many parts of a file are looked at before it is given up. */
const PARTS_MAX = 1000

/** The frame header of a JPEG, after its other segments. */
async function jpegMeasures(readAt: ReadAt): Promise<Measures> {
  let at = 2
  for (let part = 0; part < PARTS_MAX; part += 1) {
    const segment = await readAt(at, 9)
    if (segment.length < 9 || segment[0] !== 0xff) return UNKNOWN
    const marker = segment[1] ?? 0
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)
    if (isFrame) return { height: segment.readUInt16BE(5), width: segment.readUInt16BE(7) }
    at += 2 + (marker === 0xff ? -1 : segment.readUInt16BE(2))
  }
  return UNKNOWN
}

/** The track header that has measures; sound has none. */
async function mp4Measures(readAt: ReadAt): Promise<Measures> {
  const inside: Readonly<Record<string, number>> = { moov: 8, trak: 8 }
  let at = 0
  for (let part = 0; part < PARTS_MAX; part += 1) {
    const head = await readAt(at, 16)
    if (head.length < 8) return UNKNOWN
    const type = head.toString('latin1', 4, 8)
    if (type === 'tkhd') {
      const header = await readAt(at + 8, 96)
      const from = header[0] === 1 ? 88 : 76
      if (header.length >= from + 8) {
        const [width, height] = [header.readUInt32BE(from) / 0x10000, header.readUInt32BE(from + 4) / 0x10000]
        if (width > 0 && height > 0) return { width: Math.round(width), height: Math.round(height) }
      }
    }
    const short = head.readUInt32BE(0)
    const length = short === 1 && head.length === 16 ? Number(head.readBigUInt64BE(8)) : short
    if (length < 8) return UNKNOWN
    at += inside[type] ?? length
  }
  return UNKNOWN
}

/** Elements of Matroska that hold the way to a track's measures, and the measures. */
const EBML = { segment: 0x18538067, tracks: 0x1654ae6b, entry: 0xae, video: 0xe0, width: 0xb0, height: 0xba }

async function webmMeasures(readAt: ReadAt): Promise<Measures> {
  const into = new Set([EBML.segment, EBML.tracks, EBML.entry, EBML.video])
  let at = 0
  let width: number | undefined
  for (let part = 0; part < PARTS_MAX; part += 1) {
    const head = await readAt(at, 16)
    const idLength = Math.clz32(head[0] ?? 0) - 23
    if (head.length < 2 || idLength > 4) return UNKNOWN
    const sizeLength = Math.clz32(head[idLength] ?? 0) - 23
    if (sizeLength > 8 || head.length < idLength + sizeLength) return UNKNOWN
    const id = head.readUIntBE(0, idLength)
    const size = head
      .subarray(idLength, idLength + sizeLength)
      .reduce((sum, byte, index) => sum * 256 + (index === 0 ? byte & (0xff >> sizeLength) : byte), 0)
    const start = idLength + sizeLength
    if ((id === EBML.width || id === EBML.height) && size <= 6 && head.length >= start + size && size > 0) {
      const value = head.readUIntBE(start, size)
      if (id === EBML.height) return { width, height: value }
      width = value
    }
    at += start + (into.has(id) ? 0 : size)
  }
  return UNKNOWN
}
