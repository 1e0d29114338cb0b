import { find, type HoldRow } from '../administration/holds/store.ts'
import type { Database } from '../db/database.ts'
import { exitCodes, ProgramFault } from '../terminal/exit-codes.ts'

/** The hold that an operator names by its id, which is the call id, or by the request id that the client has. */
export async function findHold(db: Database, named: string): Promise<HoldRow> {
  const isId = /^\d{1,16}$/.test(named)
  if (!isId && !/^req_[0-9a-zA-Z_-]{1,64}$/.test(named))
    throw new ProgramFault(exitCodes.usage, 'That is no hold id (digits) and no request id (req_…).')
  const hold = await find(db, isId ? { id: BigInt(named) } : { requestId: named })
  if (hold === undefined)
    throw new ProgramFault(exitCodes.failed, `There is no hold ${named}. \`farebox hold list\` shows those that wait.`)
  return hold
}
