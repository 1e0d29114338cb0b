import { Worker } from 'node:worker_threads'
import type { Order } from './order.ts'

/** A thread that draws, started when the first order comes. */
export interface Studio {
  /** The files of an order; undefined when the thread died over it or was closed. */
  draw(order: Order): Promise<readonly Uint8Array[] | undefined>
  close(): Promise<void>
}

/** Pixels are kept outside of the heap: what is in it is small, and what one pixel leaves behind is swept at once. */
const resourceLimits = { maxYoungGenerationSizeMb: 8, maxOldGenerationSizeMb: 128 }

/** Opens a studio. It does not keep the process alive. */
export function openStudio(): Studio {
  let worker: Worker | undefined
  let closed = false
  let last = 0
  const waiting = new Map<number, (files: readonly Uint8Array[] | undefined) => void>()
  const answer = (id: number, files: readonly Uint8Array[] | undefined): void => {
    waiting.get(id)?.(files)
    waiting.delete(id)
    if (waiting.size === 0) worker?.unref()
  }
  const started = (): Worker => {
    const thread = new Worker(new URL('./worker.ts', import.meta.url), { name: 'demo-studio', resourceLimits })
    thread.on('message', ({ id, files }: { id: number; files: readonly Uint8Array[] }) => answer(id, files))
    // whatever ended it: the next order starts another
    thread.on('error', () => undefined)
    thread.on('exit', () => {
      if (worker === thread) worker = undefined
      for (const id of [...waiting.keys()]) answer(id, undefined)
    })
    return thread
  }
  return {
    draw(order) {
      if (closed) return Promise.resolve(undefined)
      worker ??= started()
      worker.ref()
      last += 1
      const id = last
      worker.postMessage({ id, order })
      return new Promise((resolve) => waiting.set(id, resolve))
    },
    async close() {
      closed = true
      await worker?.terminate()
    },
  }
}
