import { execFileSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import { sniff } from './sniff.ts'

const sniffed = (bytes: Buffer) => sniff(async (offset, length) => bytes.subarray(offset, offset + length))
const hex = (text: string) => Buffer.from(text.replace(/\s/g, ''), 'hex')
const text = (value: string) => Buffer.from(value, 'latin1')
const box = (type: string, ...content: Buffer[]) => {
  const body = Buffer.concat(content)
  const head = Buffer.alloc(4)
  head.writeUInt32BE(body.length + 8)
  return Buffer.concat([head, text(type), body])
}
const u32 = (...values: number[]) => Buffer.concat(values.map((value) => hex(value.toString(16).padStart(8, '0'))))

const track = (width: number, height: number) =>
  box('trak', box('tkhd', u32(3), Buffer.alloc(72), u32(width * 65536, height * 65536)))
const film = (brand: string) =>
  Buffer.concat([
    box('ftyp', text(brand), u32(0)),
    box('mdat', Buffer.alloc(9000)),
    box('moov', box('mvhd', Buffer.alloc(100)), track(0, 0), track(426, 240)),
  ])

const samples: Readonly<Record<string, readonly [Buffer, string, string, number, number]>> = {
  png: [Buffer.concat([text('\x89PNG\r\n\x1a\n'), u32(13), text('IHDR'), u32(640, 480)]), 'image/png', 'png', 640, 480],
  jpeg: [
    Buffer.concat([hex('ffd8ffe1 1392'), Buffer.alloc(5008), hex('ffc4 0004 0000 ffc2 0011 08 01e0 0280')]),
    'image/jpeg',
    'jpg',
    640,
    480,
  ],
  gif: [Buffer.concat([text('GIF89a'), hex('8002 e001')]), 'image/gif', 'gif', 640, 480],
  'webp, lossy': [
    Buffer.concat([text('RIFF0000WEBPVP8 0000'), hex('000000 9d012a 8002 e001')]),
    'image/webp',
    'webp',
    640,
    480,
  ],
  'webp, lossless': [Buffer.concat([text('RIFF0000WEBPVP8L0000'), hex('2f 7fc27700')]), 'image/webp', 'webp', 640, 480],
  'webp, extended': [
    Buffer.concat([text('RIFF0000WEBPVP8X0000'), hex('00000000 7f0200 df0100')]),
    'image/webp',
    'webp',
    640,
    480,
  ],
  avif: [
    Buffer.concat([box('ftyp', text('avif'), u32(0)), box('meta', u32(0), box('ispe', u32(0, 640, 480)))]),
    'image/avif',
    'avif',
    640,
    480,
  ],
  'mp4 with its index at the end': [film('isom'), 'video/mp4', 'mp4', 426, 240],
  mov: [film('qt  '), 'video/quicktime', 'mov', 426, 240],
  webm: [
    hex(
      '1a45dfa3 87 4282 84 7765626d 18538067 01ffffffffffffff 1549a966 82 0000 1654ae6b 8d ae 8b d7 81 01 e0 86 b0 82 01aa ba 81 f0',
    ),
    'video/webm',
    'webm',
    426,
    240,
  ],
  avi: [
    Buffer.concat([text('RIFF0000AVI LIST0000hdrlavih'), Buffer.alloc(36), hex('aa010000 f0000000')]),
    'video/x-msvideo',
    'avi',
    426,
    240,
  ],
}

test.each(Object.entries(samples))(
  '%s is known by its bytes, with its measures',
  async (_name, [bytes, contentType, ending, width, height]) => {
    expect(await sniffed(bytes)).toMatchObject({ contentType, ending, width, height })
  },
)

test.each(Object.entries(samples))('%s that is cut anywhere is no crash', async (_name, [bytes]) => {
  for (let length = 0; length < Math.min(bytes.length, 200); length += 1) await sniffed(bytes.subarray(0, length))
  await sniffed(Buffer.concat([bytes.subarray(0, 40), Buffer.alloc(500, 0xff)]))
  await sniffed(Buffer.concat([bytes.subarray(0, 12), Buffer.alloc(500)]))
})

test.each([
  ['HTML', text('<!doctype html><script>')],
  ['SVG', text('<svg xmlns="http://www.w3.org/2000/svg"/>')],
  ['JSON', text('{"error":"no"}')],
  ['PDF', text('%PDF-1.7')],
  ['a ZIP', text('PK\x03\x04')],
  ['a program', text('\x7fELF')],
  ['WAV sound', text('RIFF0000WAVE')],
  ['nothing', Buffer.alloc(0)],
])('%s is neither picture nor film', async (_name, bytes) => {
  expect(await sniffed(bytes)).toBeUndefined()
})

describe('files of an encoder, where one is installed,', () => {
  test.each([
    ['png', 'png', 'image/png'],
    ['mjpeg', 'image2pipe', 'image/jpeg'],
    ['gif', 'gif', 'image/gif'],
    ['libvpx', 'webm', 'video/webm'],
    ['mjpeg', 'avi', 'video/x-msvideo'],
  ])('are known: %s in %s', async (codec, format, contentType) => {
    let made: Buffer
    try {
      const input = ['-v', 'quiet', '-f', 'lavfi', '-i', 'testsrc=size=64x48:duration=0.2:rate=10']
      const output = ['-c:v', codec, ...(format === 'image2pipe' || format === 'png' ? ['-frames:v', '1'] : [])]
      made = execFileSync('ffmpeg', [...input, ...output, '-f', format === 'png' ? 'image2pipe' : format, '-'], {
        stdio: 'pipe',
      })
    } catch (error) {
      expect((error as { code?: string }).code).toBe('ENOENT')
      return
    }
    expect(await sniffed(made)).toMatchObject({ contentType, width: 64, height: 48 })
  })
})
