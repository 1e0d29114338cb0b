import { sql } from 'kysely'
import type { Database } from '../db/database.ts'

/** As many ids as one step of the sequence `hold_ids` gives. */
const BLOCK = 1000n

/**
 * Ids of holds, which are the call ids: taken from the database in blocks and handed out in rising order, so
 * that each is known before its hold is written and an unknown commit can be sent again.
 */
export interface HoldIds {
  next(): Promise<bigint>
  /** No id that `next` gives from now on is smaller. */
  readonly lowest: bigint
}

/** Takes the first block of ids; rejects when the database cannot give one. */
export async function createHoldIds(db: Database): Promise<HoldIds> {
  let current = await takeBlock(db)
  let left = BLOCK
  let following: Promise<bigint> | undefined

  return {
    get lowest() {
      return current
    },
    async next() {
      for (;;) {
        if (left > 0n) {
          left -= 1n
          const id = current
          current += 1n
          return id
        }
        following ??= takeBlock(db)
        const taken = following
        const start = await taken.finally(() => {
          if (following === taken) following = undefined
        })
        // several callers may have waited for one block: the first of them opens it and takes an id, and nobody opens it
        // again, while it lasts or when it is used up. It may begin right where the one before it ended.
        if (current <= start) {
          current = start
          left = BLOCK
        }
      }
    },
  }
}

async function takeBlock(db: Database): Promise<bigint> {
  const { rows } = await sql<{ start: bigint }>`select nextval('hold_ids') as start`.execute(db)
  return (rows[0] as { start: bigint }).start
}
