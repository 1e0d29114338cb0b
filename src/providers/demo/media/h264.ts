/**
 * A film as H.264 (ITU-T H.264, Constrained Baseline) without any prediction: what changed since the last frame is
 * sent as samples (I_PCM macroblocks), everything else is skipped. Every decoder plays it; it is only large.
 */
export interface H264Stream {
  /** Sequence and picture parameter set, as NAL units without start code. */
  readonly sps: Buffer
  readonly pps: Buffer
  /** One NAL unit for each frame. The first is a key frame, the others lean on the one before. */
  readonly frames: readonly Buffer[]
}

/** Encodes frames of red, green and blue rows. Width and height are even numbers. */
export function h264(frames: Iterable<Uint8Array>, { width, height }: { width: number; height: number }): H264Stream {
  const size = { columns: Math.ceil(width / 16), rows: Math.ceil(height / 16) }
  const coded: Buffer[] = []
  let shown: Uint8Array[] | undefined
  for (const rgb of frames) {
    const blocks = macroblocks(rgb, width, height, size)
    // what nobody sees change stays as it was shown, so that errors do not add up
    const next = blocks.map((block, place) => looksLike(block, shown?.[place]) ?? block)
    coded.push(shown ? followingFrame(next, shown, coded.length) : keyFrame(next))
    shown = next
  }
  return { sps: sequenceParameters(width, height, size), pps: pictureParameters(), frames: coded }
}

/** The shown macroblock when the new one is hardly different from it. */
function looksLike(block: Uint8Array, shown: Uint8Array | undefined): Uint8Array | undefined {
  const near = shown && block.every((sample, index) => Math.abs(sample - (shown[index] ?? 0)) <= UNSEEN)
  return near ? shown : undefined
}

/** How many of 256 shades a sample may be off. */
const UNSEEN = 2

interface Size {
  readonly columns: number
  readonly rows: number
}

/** Profile 66 with constraint_set1: what phones and browsers decode in hardware; level 3.1. */
const PROFILE = [66, 0xc0, 31] as const
/** Bits of frame_num, so that 16 frames apart are told apart. */
const FRAME_NUM_BITS = 4

function sequenceParameters(width: number, height: number, { columns, rows }: Size): Buffer {
  const bits = new Bits()
  for (const byte of PROFILE) bits.put(byte, 8)
  bits.ue(0) // seq_parameter_set_id
  bits.ue(FRAME_NUM_BITS - 4)
  bits.ue(2) // pic_order_cnt_type: frames are shown in the order they come
  bits.ue(1) // one frame to lean on
  bits.put(0, 1) // no gaps in frame_num
  bits.ue(columns - 1)
  bits.ue(rows - 1)
  bits.put(1, 1) // frames, no fields
  bits.put(1, 1) // direct_8x8_inference
  const [right, bottom] = [(columns * 16 - width) / 2, (rows * 16 - height) / 2]
  const cropped = right > 0 || bottom > 0
  bits.put(cropped ? 1 : 0, 1)
  if (cropped) for (const crop of [0, right, 0, bottom]) bits.ue(crop)
  bits.put(0, 1) // no VUI
  return nalUnit(0x67, bits.trailed())
}

function pictureParameters(): Buffer {
  const bits = new Bits()
  bits.ue(0) // pic_parameter_set_id
  bits.ue(0) // seq_parameter_set_id
  bits.put(0, 2) // CAVLC; no bottom field order
  bits.ue(0) // one slice group
  bits.ue(0) // one reference
  bits.ue(0)
  bits.put(0, 3) // no weighted prediction
  bits.se(0) // quantisers and chroma offset: nothing is quantised
  bits.se(0)
  bits.se(0)
  bits.put(1, 1) // the slice says whether edges are smoothed
  bits.put(0, 2)
  return nalUnit(0x68, bits.trailed())
}

/** Every macroblock as samples. */
function keyFrame(blocks: readonly Uint8Array[]): Buffer {
  const bits = new Bits()
  bits.ue(0) // first macroblock
  bits.ue(7) // an I slice, as are all of the picture
  bits.ue(0)
  bits.put(0, FRAME_NUM_BITS)
  bits.ue(0) // idr_pic_id
  bits.put(0, 2) // decoded reference marking
  bits.se(0)
  bits.ue(1) // edges are not smoothed
  for (const block of blocks) {
    bits.ue(25) // I_PCM
    bits.samples(block)
  }
  return nalUnit(0x65, bits.trailed())
}

/** Only the macroblocks that are not those of `before`. */
function followingFrame(blocks: readonly Uint8Array[], before: readonly Uint8Array[], index: number): Buffer {
  const bits = new Bits()
  bits.ue(0)
  bits.ue(5) // a P slice, as are all of the picture
  bits.ue(0)
  bits.put(index % 2 ** FRAME_NUM_BITS, FRAME_NUM_BITS)
  bits.put(0, 1) // as many references as the picture parameters say
  bits.put(0, 1) // in their order
  bits.put(0, 1) // sliding window
  bits.se(0)
  bits.ue(1)
  let skipped = 0
  blocks.forEach((block, place) => {
    if (block === before[place]) {
      skipped += 1
      return
    }
    bits.ue(skipped)
    skipped = 0
    bits.ue(5 + 25) // I_PCM inside a P slice
    bits.samples(block)
  })
  if (skipped > 0) bits.ue(skipped)
  return nalUnit(0x41, bits.trailed())
}

/** The samples of each macroblock in the order of the stream: 256 of brightness, 64 of blue, 64 of red (BT.601). */
function macroblocks(rgb: Uint8Array, width: number, height: number, { columns, rows }: Size): Uint8Array[] {
  const blocks: Uint8Array[] = []
  const at = (x: number, y: number): number => (Math.min(y, height - 1) * width + Math.min(x, width - 1)) * 3
  for (let place = 0; place < columns * rows; place += 1) {
    const [left, top] = [(place % columns) * 16, Math.floor(place / columns) * 16]
    const block = new Uint8Array(384)
    for (let index = 0; index < 256; index += 1) {
      const from = at(left + (index & 15), top + (index >> 4))
      const [r = 0, g = 0, b = 0] = [rgb[from], rgb[from + 1], rgb[from + 2]]
      block[index] = (66 * r + 129 * g + 25 * b + 4224) >> 8
    }
    for (let index = 0; index < 64; index += 1) {
      const from = at(left + (index & 7) * 2, top + (index >> 3) * 2)
      const [r = 0, g = 0, b = 0] = [rgb[from], rgb[from + 1], rgb[from + 2]]
      block[256 + index] = (-38 * r - 74 * g + 112 * b + 32896) >> 8
      block[320 + index] = (112 * r - 94 * g - 18 * b + 32896) >> 8
    }
    blocks.push(block)
  }
  return blocks
}

/** A NAL unit with its header byte. A 3 keeps two zeros and a small number from looking like a start code. */
function nalUnit(header: number, payload: Buffer): Buffer {
  const escaped = Buffer.alloc(1 + payload.length + Math.ceil(payload.length / 2))
  escaped[0] = header
  let [length, zeros] = [1, 0]
  for (const byte of payload) {
    if (zeros === 2 && byte <= 3) {
      escaped[length] = 3
      length += 1
      zeros = 0
    }
    escaped[length] = byte
    length += 1
    zeros = byte === 0 ? zeros + 1 : 0
  }
  return Buffer.from(escaped.subarray(0, length))
}

/** Bits written one after the other, with the codes of H.264. */
class Bits {
  #bytes = Buffer.alloc(65_536)
  #length = 0
  #open = 0
  #count = 0

  /** The `count` low bits of `value`, the highest first. */
  put(value: number, count: number): void {
    for (let bit = count - 1; bit >= 0; bit -= 1) {
      this.#open = (this.#open << 1) | ((value >>> bit) & 1)
      this.#count += 1
      if (this.#count === 8) this.#push()
    }
  }

  /** Exp-Golomb: as many zeros as the number after it has further bits. */
  ue(value: number): void {
    const width = 32 - Math.clz32(value + 1)
    this.put(0, width - 1)
    this.put(value + 1, width)
  }

  se(value: number): void {
    this.ue(value > 0 ? value * 2 - 1 : -value * 2)
  }

  /** Whole bytes, after zeros up to the next boundary. */
  samples(bytes: Uint8Array): void {
    if (this.#count > 0) this.put(0, 8 - this.#count)
    this.#grow(bytes.length)
    this.#bytes.set(bytes, this.#length)
    this.#length += bytes.length
  }

  /** All of it, ended by a one and zeros up to the boundary. */
  trailed(): Buffer {
    this.put(1, 1)
    if (this.#count > 0) this.put(0, 8 - this.#count)
    return this.#bytes.subarray(0, this.#length)
  }

  #push(): void {
    this.#grow(1)
    this.#bytes[this.#length] = this.#open
    this.#length += 1
    this.#open = 0
    this.#count = 0
  }

  #grow(more: number): void {
    if (this.#length + more <= this.#bytes.length) return
    const larger = Buffer.alloc((this.#length + more) * 2)
    larger.set(this.#bytes.subarray(0, this.#length))
    this.#bytes = larger
  }
}
