import type { H264Stream } from './h264.ts'

/** A film's measures. */
export interface FilmForm {
  readonly width: number
  readonly height: number
  readonly framesPerSecond: number
}

/** Wraps an H.264 stream as MP4 (ISO/IEC 14496-12), the index in front of the samples so that it plays while it loads. */
export function mp4(stream: H264Stream, form: FilmForm): Buffer {
  const samples = stream.frames.map((frame) => Buffer.concat([u32(frame.length), frame]))
  const file = box('ftyp', text('isom'), u32(512), text('isomiso2avc1mp41'))
  // The index names where the samples begin, and its own length does not depend on that.
  const index = (samplesAt: number): Buffer => movie(stream, samples, form, samplesAt)
  const samplesAt = file.length + index(0).length + 8
  return Buffer.concat([file, index(samplesAt), box('mdat', ...samples)])
}

function movie(stream: H264Stream, samples: readonly Buffer[], form: FilmForm, samplesAt: number): Buffer {
  const duration = samples.length
  const header = box(
    'mvhd',
    full(0),
    zeros(8),
    u32(form.framesPerSecond, duration, 0x10000, 0x01000000),
    zeros(8),
    MATRIX,
    zeros(24),
    u32(2),
  )
  const track = box(
    'tkhd',
    full(3),
    zeros(8),
    u32(1, 0, duration),
    zeros(16),
    MATRIX,
    u32(form.width * 0x10000, form.height * 0x10000),
  )
  const media = box(
    'mdia',
    box('mdhd', full(0), zeros(8), u32(form.framesPerSecond, duration, 0x55c40000)),
    box('hdlr', full(0), u32(0), text('vide'), zeros(12), text('Farebox demo\0')),
    box(
      'minf',
      box('vmhd', full(1), zeros(8)),
      box('dinf', box('dref', full(0), u32(1), box('url ', full(1)))),
      sampleTable(stream, samples, form, samplesAt),
    ),
  )
  return box('moov', header, box('trak', track, media))
}

function sampleTable(
  { sps, pps }: H264Stream,
  samples: readonly Buffer[],
  { width, height }: FilmForm,
  samplesAt: number,
): Buffer {
  const configuration = box(
    'avcC',
    Buffer.from([1, ...sps.subarray(1, 4), 0xff, 0xe1]),
    u16(sps.length),
    sps,
    Buffer.from([1]),
    u16(pps.length),
    pps,
  )
  const entry = box(
    'avc1',
    zeros(6),
    u16(1),
    zeros(16),
    u16(width, height),
    u32(0x480000, 0x480000, 0),
    u16(1),
    zeros(32),
    u16(24, 0xffff),
    configuration,
  )
  return box(
    'stbl',
    box('stsd', full(0), u32(1), entry),
    box('stts', full(0), u32(1, samples.length, 1)),
    box('stss', full(0), u32(1, 1)),
    box('stsc', full(0), u32(1, 1, samples.length, 1)),
    box('stsz', full(0), u32(0, samples.length, ...samples.map((sample) => sample.length))),
    box('stco', full(0), u32(1, samplesAt)),
  )
}

/** Neither turned nor stretched. */
const MATRIX = u32(0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000)

function box(type: string, ...content: readonly Buffer[]): Buffer {
  const body = Buffer.concat(content)
  return Buffer.concat([u32(body.length + 8), text(type), body])
}

function u32(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4)
  values.forEach((value, index) => {
    bytes.writeUInt32BE(value, index * 4)
  })
  return bytes
}

function u16(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 2)
  values.forEach((value, index) => {
    bytes.writeUInt16BE(value, index * 2)
  })
  return bytes
}

/** Version 0 and the flags of a box. */
const full = (flags: number): Buffer => u32(flags)

const zeros = (count: number): Buffer => Buffer.alloc(count)

const text = (value: string): Buffer => Buffer.from(value, 'latin1')
