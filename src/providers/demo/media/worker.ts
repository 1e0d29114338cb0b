import { parentPort } from 'node:worker_threads'
import { draw } from './draw.ts'
import type { Order } from './order.ts'

// The thread that draws. It takes one order after the other and hands the bytes over without copying them.
parentPort?.on('message', ({ id, order }: { id: number; order: Order }) => {
  const files = draw(order).map((file) => new Uint8Array(file))
  parentPort?.postMessage(
    { id, files },
    files.map((file) => file.buffer as ArrayBuffer),
  )
})
