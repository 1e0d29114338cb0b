import pg from 'pg'
import { applicationConnection } from '../db/database.ts'
import { isConnectionLost } from '../kernel/connection-lost.ts'
import type { Applied, Operation, Status } from './operations.ts'
import { wireForm } from './operations.ts'

/** One connection on which flushes are applied, one after the other. */
export interface Lane {
  /**
   * Applies the operations in one transaction and gives their answers in order. Rejects with LaneLost when the
   * outcome is not known: sending the very same operations again is always safe.
   */
  apply(operations: readonly Operation[]): Promise<Applied[]>
  close(): Promise<void>
}

/** The connection broke before the answer came: the flush may or may not have been committed. */
export class LaneLost extends Error {
  override name = 'LaneLost'
}

const query = {
  name: 'ledger_apply',
  text: 'select status, amount_micro, available_micro, detail from ledger_apply($1)',
  rowMode: 'array' as const,
}

/** Errors of the server's state, not of the operations: out of space or memory, an IO error, a cancelled or timed out statement, a standby. */
const isPassing = (error: pg.DatabaseError): boolean => /^(53|58|57014|55P03|25006)/.test(error.code ?? '')

/** A lane over PostgreSQL. It reconnects by itself on the next apply; `answerTimeoutMs` turns a silent server into LaneLost. */
export function openLane(options: { url: string; processId: bigint; answerTimeoutMs: number }): Lane {
  let client: pg.Client | undefined

  async function connected(): Promise<pg.Client> {
    if (client) return client
    const fresh = new pg.Client({
      ...applicationConnection(options.url),
      application_name: 'farebox ledger',
      // by the server's own clock a flush that nobody waits for any more ends, and cannot be committed much later
      statement_timeout: options.answerTimeoutMs * 2,
    })
    fresh.on('error', () => drop(fresh))
    await fresh.connect()
    client = fresh
    return fresh
  }

  /** Cuts the socket instead of asking politely: a cancelled commit could be answered as done when it is not. */
  function drop(broken: pg.Client): void {
    if (client === broken) client = undefined
    const { connection } = broken as unknown as { connection: { stream: { destroy(): void } } }
    connection.stream.destroy()
  }

  return {
    async apply(operations) {
      const payload = JSON.stringify(operations.map((operation) => wireForm(operation, options.processId)))
      let current: pg.Client
      try {
        current = await connected()
      } catch (cause) {
        throw new LaneLost('cannot connect to the database', { cause })
      }
      let timer: NodeJS.Timeout | undefined
      const silent = new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(new LaneLost('the database did not answer in time')), options.answerTimeoutMs)
      })
      try {
        const answer = current.query<[Status, bigint | null, bigint | null, Record<string, unknown> | null]>({
          ...query,
          values: [payload],
        })
        answer.catch(() => undefined) // when the timer won, the late rejection has nobody to tell
        const { rows } = await Promise.race([answer, silent])
        return rows.map(([status, amount, available, detail]) => ({
          status,
          amountMicro: amount ?? undefined,
          availableMicro: available ?? undefined,
          detail: detail ?? undefined,
        }))
      } catch (cause) {
        // what PostgreSQL did not say itself came from the line or the driver, in too many words to list
        if (!(cause instanceof pg.DatabaseError) || isConnectionLost(cause) || isPassing(cause)) {
          drop(current)
          throw cause instanceof LaneLost ? cause : new LaneLost('the connection to the database was lost', { cause })
        }
        throw cause
      } finally {
        clearTimeout(timer)
      }
    },
    async close() {
      await client?.end().catch(() => undefined)
      client = undefined
    },
  }
}
