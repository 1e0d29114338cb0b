import { execFileSync } from 'node:child_process'
import { crc32, inflateSync } from 'node:zlib'
import { afterAll, describe, expect, test } from 'vitest'
import type { Clock } from '../../../kernel/clock.ts'
import type { JobReference, JobState, MediaFile, MediaJob } from '../../media.ts'
import { draw } from './draw.ts'
import { createDemoMedia } from './index.ts'
import { type Order, orderOf } from './order.ts'

let nowMs = 1_000_000
const clock: Clock = { now: () => new Date(nowMs), monotonicMs: () => performance.now() }
const demo = createDemoMedia({ clock, slowMs: 10_000 })
afterAll(() => demo.close())

const order = (more: Partial<Order> = {}): Order => ({
  type: 'image',
  prompt: 'a lake',
  seed: 1,
  width: 64,
  height: 48,
  count: 1,
  seconds: 1,
  ...more,
})

describe('a picture', () => {
  const pictureOf = (more: Partial<Order> = {}) => read(draw(order(more))[0])

  test('is a PNG whose checksums and measures are right', () => {
    const { width, height, pixels } = pictureOf()
    expect([width, height]).toEqual([64, 48])
    expect(pixels.length).toBe(48 * (64 * 3 + 1))
    expect(new Set(pixels).size).toBeGreaterThan(50)
  })

  test('depends on prompt and seed, and on nothing else', () => {
    const pixels = (more: Partial<Order>) => pictureOf(more).pixels.toString('latin1')
    const all = [{}, { seed: 2 }, { seed: 3 }, { prompt: 'a forest' }, { prompt: 'Jazz at night' }].map(pixels)
    expect(new Set(all).size).toBe(all.length)
    expect(pixels({})).toBe(all[0])
    const [first, second] = draw(order({ count: 2 }))
    expect(Buffer.compare(first ?? Buffer.alloc(0), second ?? Buffer.alloc(0))).not.toBe(0)
  })

  test('of any prompt can be drawn', () => {
    for (const prompt of ['', ' ', '漢字 🦊 \u0000', 'x'.repeat(5000), 'long '.repeat(1000)])
      expect(pictureOf({ prompt, width: 200, height: 200 }).width).toBe(200)
  })
})

describe('what is asked for', () => {
  const asked = (input: MediaJob['input'], type: MediaJob['type'] = 'image') =>
    orderOf({ type, input, attemptId: 'a1' })

  test.each([
    [{}, 1024, 1024],
    [{ size: '640x480' }, 640, 480],
    [{ size: 'auto' }, 1024, 1024],
    [{ resolution: '512', aspect_ratio: '16:9' }, 910, 512],
    [{ resolution: '512', aspect_ratio: '9:16' }, 512, 910],
    [{ resolution: '2K' }, 1536, 1536],
    [{ aspect_ratio: '1:4' }, 512, 2048],
  ])('%j is %i by %i', (input, width, height) => {
    expect(asked(input)).toMatchObject({ width, height })
  })

  test('is a film of 16:9 that lasts as long as said', () => {
    expect(asked({ duration: '3', resolution: '360p' }, 'video')).toMatchObject({ width: 640, height: 360, seconds: 3 })
    expect(asked({}, 'video')).toMatchObject({ width: 426, height: 240, seconds: 2, count: 1 })
  })

  test('keeps its seed, and each attempt has its own without one', () => {
    expect(asked({ seed: 7 })).toMatchObject({ seed: 7 })
    expect(asked({})).toEqual(asked({}))
    expect(asked({})).not.toEqual(orderOf({ type: 'image', input: {}, attemptId: 'a2' }))
  })

  test.each([
    ...[{ size: '1x1' }, { size: '4096x4096' }, { size: 'big' }, { n: 0 }, { n: 5 }, { n: 1.5 }, { n: 'two' }],
    ...[{ aspect_ratio: '1:9' }, { aspect_ratio: '0:0' }, { resolution: '8K' }, { output_format: 'webp' }],
    ...[{ seed: 'x' }, { duration: 60 }],
  ])('%j is refused in words', (input) => {
    expect(asked(input)).toEqual(expect.any(String))
  })
})

describe('a film', () => {
  test('is an MP4 whose boxes add up and whose frames are H.264 units', () => {
    const file = Buffer.from(draw(order({ type: 'video', width: 64, height: 36, seconds: 1 }))[0] ?? [])
    expect(boxes(file).map(({ type }) => type)).toEqual(['ftyp', 'moov', 'mdat'])
    const samples = boxes(file).at(-1)?.content ?? Buffer.alloc(0)
    const kinds: number[] = []
    for (let at = 0; at < samples.length; at += 4 + samples.readUInt32BE(at)) kinds.push((samples[at + 4] ?? 0) & 31)
    expect(kinds).toEqual([5, ...Array(11).fill(1)])
    expect(samples.includes(Buffer.from([0, 0, 1]))).toBe(false)
  })

  test('is played by a decoder without a complaint, where one is installed', () => {
    const file = draw(order({ type: 'video', width: 66, height: 50, seconds: 2 }))[0] ?? Buffer.alloc(0)
    let said: string
    try {
      const decoder = ['-v', 'error', '-xerror', '-i', 'pipe:0', '-f', 'framemd5', '-']
      said = execFileSync('ffmpeg', decoder, { input: file, encoding: 'utf8', stdio: 'pipe' })
    } catch (error) {
      expect(error).toMatchObject({ code: 'ENOENT' })
      return
    }
    const frames = said.split('\n').filter((line) => /^0,/.test(line))
    expect(frames).toHaveLength(24)
    expect(new Set(frames.map((line) => line.split(',').at(-1))).size).toBeGreaterThan(12)
  })
})

describe('the provider', () => {
  let attempts = 0
  const submitted = async (model: string, prompt: string, more: Partial<MediaJob> = {}) => {
    attempts += 1
    const job: MediaJob = {
      type: model.startsWith('video') ? 'video' : 'image',
      model,
      input: { prompt, size: '64x64', duration: 1 },
      images: [],
      attemptId: `attempt-${attempts}`,
      callbackUrl: undefined,
      ...more,
    }
    const answer = await demo.submit(job)
    const reference: JobReference = {
      model,
      providerJobId: answer.kind === 'accepted' ? answer.providerJobId : '',
      memo: answer.kind === 'accepted' ? answer.memo : undefined,
    }
    return { answer, reference, job }
  }
  const ended = async (reference: JobReference, by = demo): Promise<JobState> => {
    for (;;) {
      const state = await by.poll(reference)
      if (state.kind !== 'running') return state
      await new Promise(setImmediate)
    }
  }

  test.each([
    ['image', 'a lake', 'image/png'],
    ['video', 'a lake', 'video/mp4'],
  ])('makes a job of model %s that ends with its files and what it counted', async (model, prompt, type) => {
    const { answer, reference } = await submitted(model, prompt)
    expect(answer).toMatchObject({ kind: 'accepted' })
    const end = await ended(reference)
    expect(end).toMatchObject({ kind: 'succeeded', units: 1 })
    if (end.kind === 'succeeded') expect(end.files.map(typeOf)).toEqual([type])
  })

  test('keeps a job beyond its own process: another one makes the same files of it', async () => {
    const { reference } = await submitted('image', 'a lake')
    const other = createDemoMedia({ clock })
    expect(await ended(reference, other)).toEqual(await ended(reference))
    await other.close()
  })

  test('waits with a slow job until its time has come, and says how far it is', async () => {
    const { reference } = await submitted('image-slow', 'a lake')
    expect(await demo.poll(reference)).toMatchObject({ kind: 'running', state: 'queuing', progress: 0 })
    nowMs += 5_000
    expect(await demo.poll(reference)).toMatchObject({ kind: 'running', state: 'generating', progress: 0.5 })
    nowMs += 5_000
    expect(await ended(reference)).toMatchObject({ kind: 'succeeded' })
  })

  test('has done nothing for a job that was canceled', async () => {
    const { reference } = await submitted('image-slow', 'a lake')
    await demo.cancel?.(reference)
    expect(await demo.poll(reference)).toMatchObject({ kind: 'failed', code: 'canceled', billed: false })
  })

  test('draws twenty jobs at once although it keeps few of them in memory', async () => {
    const jobs = await Promise.all(Array.from({ length: 20 }, () => submitted('image', 'a lake')))
    const ends = await Promise.all(jobs.map(({ reference }) => ended(reference)))
    expect(ends.map(({ kind }) => kind)).toEqual(Array(20).fill('succeeded'))
  })

  test.each([
    ['fail:500', { kind: 'refused', status: 500, retryable: true }],
    ['fail:400', { kind: 'refused', status: 400, retryable: false }],
    ['fail:429', { kind: 'refused', status: 429, retryable: true, retryAfterMs: 1000 }],
    ['fail:refused', { kind: 'refused', status: undefined, retryable: true }],
    ['fail:lost', { kind: 'lost' }],
    ['fail:gone', { kind: 'lost' }],
  ])('ends a submission that asks for %s so', async (prompt, outcome) => {
    expect((await submitted('failing', prompt)).answer).toMatchObject(outcome)
  })

  test('finds the job of a lost submission again if there is one', async () => {
    const find = async (prompt: string) => demo.find?.((await submitted('failing', prompt)).job)
    expect(await find('fail:lost')).toMatchObject({ kind: 'accepted' })
    expect(await find('fail:gone')).toMatchObject({ kind: 'missing' })
  })

  test.each([
    ['fail:failed', { kind: 'failed', billed: false }],
    ['fail:billed', { kind: 'failed', billed: true }],
    ['fail:unknown', { kind: 'failed', billed: undefined }],
    ['fail:timeout', { kind: 'running' }],
    ['fail:unreachable', { kind: 'unreachable' }],
    ['fail:missing', { kind: 'missing' }],
    ['fail:garbage', { kind: 'succeeded' }],
  ])('answers for a job that asks for %s so', async (prompt, state) => {
    expect(await demo.poll((await submitted('failing', prompt)).reference)).toMatchObject(state)
  })

  test('refuses a model that it does not have, and what it cannot make', async () => {
    expect((await submitted('dall-e', 'x')).answer).toMatchObject({ kind: 'refused', status: 404, retryable: false })
    const input = { prompt: 'x', size: 'huge' }
    expect((await submitted('image', 'x', { input })).answer).toMatchObject({ kind: 'refused', status: 400 })
    const signal = AbortSignal.abort()
    expect((await submitted('image', 'x', { signal })).answer).toMatchObject({ kind: 'refused', retryable: true })
    expect(await demo.poll({ providerJobId: 'x', model: 'image', memo: undefined })).toEqual({ kind: 'missing' })
  })
})

function typeOf(file: MediaFile): string {
  const head = file.kind === 'bytes' ? Buffer.from(file.bytes).subarray(0, 12).toString('latin1') : ''
  return head.startsWith('\x89PNG') ? 'image/png' : head.slice(4, 8) === 'ftyp' ? 'video/mp4' : 'none'
}

function boxes(file: Buffer): { type: string; content: Buffer }[] {
  const found = []
  let at = 0
  while (at < file.length) {
    const length = file.readUInt32BE(at)
    found.push({ type: file.toString('latin1', at + 4, at + 8), content: file.subarray(at + 8, at + length) })
    at += length
  }
  expect(at).toBe(file.length)
  return found
}

function read(file: Uint8Array | undefined): { width: number; height: number; pixels: Buffer } {
  const png = Buffer.from(file ?? [])
  expect(png.subarray(0, 8).toString('latin1')).toBe('\x89PNG\r\n\x1a\n')
  const chunks = new Map<string, Buffer>()
  for (let at = 8; at < png.length; ) {
    const length = png.readUInt32BE(at)
    const typed = png.subarray(at + 4, at + 8 + length)
    expect(png.readUInt32BE(at + 8 + length)).toBe(crc32(typed))
    chunks.set(typed.toString('latin1', 0, 4), typed.subarray(4))
    at += 12 + length
  }
  const header = chunks.get('IHDR') ?? Buffer.alloc(8)
  return {
    width: header.readUInt32BE(0),
    height: header.readUInt32BE(4),
    pixels: inflateSync(chunks.get('IDAT') ?? Buffer.alloc(0)),
  }
}
