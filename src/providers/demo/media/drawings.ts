import type { Clock } from '../../../kernel/clock.ts'
import type { Order } from './order.ts'
import { openStudio } from './studio.ts'

/** Drawings on their way: only a few are in memory, however many are ordered. */
export interface Drawings {
  /**
   * Starts the drawing of an order, or waits a moment for it, and gives its files once; `queuing` while there is no
   * room for it. undefined when there will be none, because this is closed.
   */
  fetch(id: string, order: Order): Promise<'queuing' | 'generating' | readonly Uint8Array[] | undefined>
  drop(id: string): void
  close(): Promise<void>
}

/** Drawings that run or wait to be fetched, with their bytes: what memory this provider takes. */
const DRAWINGS_MAX = 8
/** After this a finished drawing that nobody fetched makes room. */
const UNFETCHED_MS = 5_000
/** How long it is waited for a drawing. */
const PATIENCE_MS = 1_000

interface Drawing {
  files: readonly Uint8Array[] | undefined
  done: Promise<void> | undefined
  endedMs: number | undefined
}

/** Opens them, with a thread that draws. */
export function openDrawings(clock: Clock): Drawings {
  const studio = openStudio()
  const drawing = new Map<string, Drawing>()

  const begun = (id: string, order: Order): Drawing | undefined => {
    const known = drawing.get(id)
    if (known) return known
    makeRoom(drawing, clock.monotonicMs())
    if (drawing.size >= DRAWINGS_MAX) return undefined
    const started: Drawing = { files: undefined, done: undefined, endedMs: undefined }
    started.done = studio.draw(order).then((files) => {
      started.endedMs = clock.monotonicMs()
      started.files = files
    })
    drawing.set(id, started)
    return started
  }

  return {
    async fetch(id, order) {
      const started = begun(id, order)
      if (!started) return 'queuing'
      await Promise.race([started.done, pause(PATIENCE_MS)])
      if (started.endedMs === undefined) return 'generating'
      drawing.delete(id)
      return started.files
    },
    drop: (id) => void drawing.delete(id),
    close: () => studio.close(),
  }
}

function makeRoom(drawing: Map<string, Drawing>, nowMs: number): void {
  for (const [id, { endedMs }] of drawing) {
    if (endedMs !== undefined && nowMs - endedMs > UNFETCHED_MS) drawing.delete(id)
  }
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms).unref())
