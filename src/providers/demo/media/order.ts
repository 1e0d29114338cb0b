import { createHash } from 'node:crypto'
import type { MediaJob } from '../../media.ts'
import type { JsonObject } from '../../provider.ts'

/** What is to be drawn: plain data, because it goes to a worker thread and into a job's memo. */
export interface Order {
  readonly type: 'image' | 'video'
  readonly prompt: string
  readonly seed: number
  readonly width: number
  readonly height: number
  /** How many pictures; of films there is one. */
  readonly count: number
  /** How long a film is. */
  readonly seconds: number
}

/** Shorter sides of a picture and of a film, by `resolution`. */
const SIDES: Readonly<Record<Order['type'], Readonly<Record<string, number>>>> = {
  image: { '256': 256, '512': 512, '1K': 1024, '2K': 1536 },
  video: { '240p': 240, '360p': 360, '480p': 480 },
}
const DEFAULT_SIDE = { image: 1024, video: 240 } as const
const SIDE_MIN = 16
const SIDE_MAX = 2048
const COUNT_MAX = 4
const SECONDS_MAX = 10
const DEFAULT_SECONDS = 2

/** Reads what a client asked for, or says what cannot be made of it. Without a seed each attempt has its own. */
export function orderOf({ type, input, attemptId }: Pick<MediaJob, 'type' | 'input' | 'attemptId'>): Order | string {
  const size = measuresOf(type, input)
  if (typeof size === 'string') return size
  const count = numberOf(input.n) ?? 1
  if (!Number.isInteger(count) || count < 1 || count > COUNT_MAX) return `n is 1 to ${COUNT_MAX}.`
  const seconds = numberOf(input.duration ?? input.seconds) ?? DEFAULT_SECONDS
  if (!(seconds >= 1 && seconds <= SECONDS_MAX)) return `duration is 1 to ${SECONDS_MAX} seconds.`
  const format = input.output_format
  const made = type === 'image' ? 'png' : 'mp4'
  if (format !== undefined && format !== made) return `The demo provider makes ${made} only, as output_format.`
  const chosen = numberOf(input.seed)
  if (Number.isNaN(chosen)) return 'seed is a number.'
  const seed = chosen ?? createHash('sha256').update(attemptId).digest().readUInt32LE()
  return { type, prompt: String(input.prompt ?? ''), seed, ...size, count: type === 'video' ? 1 : count, seconds }
}

function measuresOf(type: Order['type'], input: JsonObject): { width: number; height: number } | string {
  if (typeof input.size === 'string' && input.size !== 'auto') {
    const [, width = 0, height = 0] = (/^(\d{1,5})x(\d{1,5})$/.exec(input.size) ?? []).map(Number)
    return fitting(width, height) ?? `size is like 1024x768, ${SIDE_MIN} to ${SIDE_MAX} each.`
  }
  const sides = SIDES[type]
  const resolution = input.resolution === undefined ? undefined : String(input.resolution)
  const side = resolution === undefined ? DEFAULT_SIDE[type] : sides[resolution]
  if (side === undefined) return `resolution is one of ${Object.keys(sides).join(', ')}.`
  const ratio = input.aspect_ratio
  if (ratio === undefined || ratio === 'auto') return shaped(side, type === 'video' ? 16 / 9 : 1)
  const [, across = 0, down = 0] = (/^(\d{1,3}):(\d{1,3})$/.exec(String(ratio)) ?? []).map(Number)
  const wanted = across / down
  return wanted >= 1 / 4 && wanted <= 4 ? shaped(side, wanted) : 'aspect_ratio is like 16:9, from 1:4 to 4:1.'
}

/** About as many pixels as the square, or the usual film, of this side. */
function shaped(side: number, ratio: number): { width: number; height: number } {
  const short =
    ratio === 16 / 9 || ratio === 9 / 16 || ratio === 1 ? side : side / Math.sqrt(Math.max(ratio, 1 / ratio))
  const [width, height] = ratio >= 1 ? [short * ratio, short] : [short, short / ratio]
  return { width: even(width), height: even(height) }
}

function fitting(width: number, height: number): { width: number; height: number } | undefined {
  const fits = [width, height].every((side) => side >= SIDE_MIN && side <= SIDE_MAX)
  return fits ? { width, height } : undefined
}

/** Films have two pixels to a sample of colour. */
const even = (value: number): number => Math.min(SIDE_MAX, Math.round(value / 2) * 2)

/** Multipart fields and careless clients write numbers as text. */
function numberOf(value: unknown): number | undefined {
  if (typeof value === 'string' && /^-?\d{1,15}(\.\d+)?$/.test(value)) return Number(value)
  return typeof value === 'number' && Number.isFinite(value)
    ? value
    : value === undefined || value === null
      ? undefined
      : Number.NaN
}
