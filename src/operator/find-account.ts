import { idsByEmail } from '../administration/accounts/store.ts'
import type { Database } from '../db/database.ts'
import { type AccountRow, accountOfWallet, find } from '../identity/accounts/store.ts'
import { exitCodes, ProgramFault } from '../terminal/exit-codes.ts'

const AMBIGUOUS_SHOWN = 10

/** The account that an operator names by id, wallet address or e-mail address. Refuses what names none, or several. */
export async function findAccount(db: Database, named: string): Promise<AccountRow> {
  const id = await idOf(db, named)
  const account = id === undefined ? undefined : await find(db, id)
  if (account === undefined)
    throw new ProgramFault(
      exitCodes.failed,
      `There is no account ${named}. Name it by its id, wallet address or e-mail address.`,
    )
  return account
}

async function idOf(db: Database, named: string): Promise<bigint | undefined> {
  if (/^\d{1,16}$/.test(named)) return BigInt(named)
  if (/^0x[0-9a-f]{40}$/i.test(named)) return (await accountOfWallet(db, named))?.id
  if (!named.includes('@')) {
    throw new ProgramFault(
      exitCodes.usage,
      'That is no account id, wallet address (0x and 40 hexadecimal digits) or e-mail address.',
    )
  }
  const ids = await idsByEmail(db, named, AMBIGUOUS_SHOWN)
  if (ids.length > 1)
    throw new ProgramFault(
      exitCodes.conflict,
      `Several accounts have that e-mail address: ${ids.join(', ')}. Name one by its id.`,
    )
  return ids[0]
}
