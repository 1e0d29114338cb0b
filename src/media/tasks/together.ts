/** Asks for one thing by its key; undefined when it is not there. */
export type AskTogether<Value> = (key: string) => Promise<Value | undefined>

/**
 * Asks for many things in one statement: what is asked for while a statement runs goes into the next. No timer
 * delays anything, so a quiet server asks at once and a busy one asks for hundreds together.
 */
export function together<Value>(
  load: (keys: readonly string[]) => Promise<readonly Value[]>,
  keyOf: (value: Value) => string,
  batchMax = 500,
): AskTogether<Value> {
  let queue: { key: string; resolve: (value: Value | undefined) => void; reject: (error: unknown) => void }[] = []
  let running = false

  async function run(): Promise<void> {
    while (queue.length > 0) {
      const batch = queue.slice(0, batchMax)
      queue = queue.slice(batchMax)
      try {
        const values = await load([...new Set(batch.map(({ key }) => key))])
        const found = new Map(values.map((value) => [keyOf(value), value]))
        for (const { key, resolve } of batch) resolve(found.get(key))
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    running = false
  }

  return (key) =>
    new Promise((resolve, reject) => {
      queue.push({ key, resolve, reject })
      if (running) return
      running = true
      // after this turn of the event loop, so that what is read together is asked for together
      setImmediate(() => void run())
    })
}
