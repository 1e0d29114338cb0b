import { h264 } from './h264.ts'
import { mp4 } from './mp4.ts'
import type { Order } from './order.ts'
import { png } from './png.ts'
import { sceneOf } from './scene.ts'

const FRAMES_PER_SECOND = 12

/** Makes the files of an order. Takes a tenth of a second for a picture and seconds for a film: call it in a worker. */
export function draw(order: Order): Uint8Array[] {
  return order.type === 'video'
    ? [film(order)]
    : Array.from({ length: order.count }, (_, index) => picture(order, index))
}

function picture({ prompt, seed, width, height }: Order, index: number): Buffer {
  const rgb = sceneOf({ prompt, seed: seed + index, width, height })(0.5)
  return png({ width, height, rgb }, { keyword: 'Software', value: 'Farebox demo' })
}

function film({ prompt, seed, seconds, ...order }: Order): Buffer {
  // a frame is cut from whole pairs of pixels
  const [width, height] = [order.width & ~1, order.height & ~1]
  const paint = sceneOf({ prompt, seed, width, height })
  const count = Math.max(1, Math.round(seconds * FRAMES_PER_SECOND))
  function* frames(): Generator<Uint8Array> {
    for (let index = 0; index < count; index += 1) yield paint(index / count)
  }
  return mp4(h264(frames(), { width, height }), { width, height, framesPerSecond: FRAMES_PER_SECOND })
}
