import { systemClock } from '../../src/kernel/clock.ts'
import { createApplier } from '../../src/ledger/applier.ts'
import { openLane } from '../../src/ledger/lane.ts'
import type { Applied, Capture, Operation, Reserve } from '../../src/ledger/operations.ts'

/** A call as a server makes it: a hold, and once it stands, its capture. */
export interface RacedCall {
  readonly reserve: Reserve
  readonly capture: Capture
}

/** What the test asks of a server process. */
export type Request =
  | { readonly kind: 'submit'; readonly operations: readonly Operation[] }
  | { readonly kind: 'calls'; readonly calls: readonly RacedCall[] }
  /** Reserves one after another on each of several lanes of ids, until one is refused; then once more. */
  | { readonly kind: 'until refused'; readonly first: Reserve; readonly lanes: number }

/** The answers, in the order of what was asked; of a call, the reserve's and the capture's. */
export type Reply =
  | { readonly answers: readonly Applied[] }
  | { readonly calls: ReadonlyArray<{ readonly reserve: Applied; readonly capture: Applied | undefined }> }
  | { readonly granted: number; readonly refusals: readonly string[] }

const [, , url = '', processId = '1'] = process.argv
const lane = openLane({ url, processId: BigInt(processId), answerTimeoutMs: 20_000 })
const applier = createApplier({ lane, clock: systemClock, batchMax: 512, queueMax: 10_000, patienceMs: 30_000 })

async function answer(request: Request): Promise<Reply> {
  switch (request.kind) {
    case 'submit':
      return { answers: await Promise.all(request.operations.map((operation) => applier.submit(operation))) }
    case 'calls':
      return {
        calls: await Promise.all(
          request.calls.map(async ({ reserve, capture }) => {
            const reserved = await applier.submit(reserve)
            return {
              reserve: reserved,
              capture: reserved.status === 'reserved' ? await applier.submit(capture) : undefined,
            }
          }),
        ),
      }
    case 'until refused': {
      let granted = 0
      let next = request.first.holdId
      const refusals: string[] = []
      const one = async (): Promise<string> => {
        const holdId = next
        next += 1n
        return (await applier.submit({ ...request.first, holdId, requestId: `request ${holdId}` })).status
      }
      await Promise.all(
        Array.from({ length: request.lanes }, async () => {
          let status = await one()
          for (; status === 'reserved'; status = await one()) granted += 1
          refusals.push(status, await one())
        }),
      )
      return { granted, refusals }
    }
  }
}

process.on('message', ({ id, request }: { id: number; request: Request }) => {
  answer(request).then(
    (reply) => process.send?.({ id, reply }),
    (error: unknown) => process.send?.({ id, error: String(error) }),
  )
})
process.on('disconnect', () => process.exit(0))
process.send?.({ ready: true })
