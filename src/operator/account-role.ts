import { Argument, type Command } from 'commander'
import type { ProgramSurroundings } from '../app/surroundings.ts'
import type { AccountRole } from '../db/schema.ts'
import { changeRole, type RoleRefusal } from '../identity/owners/operations.ts'
import { exitCodes, ProgramFault } from '../terminal/exit-codes.ts'
import { withJson, withReason } from '../terminal/options.ts'
import { print } from '../terminal/output.ts'
import { findAccount } from './find-account.ts'
import { withDatabase } from './session.ts'

const refusals: Record<RoleRefusal, string> = {
  no_such_account: 'It is not there any more.',
  agents_have_no_role: 'It is an Agent: only an owner can be an admin.',
}

/** Adds `account role <account> admin|user`. */
export function accountRoleCommand(account: Command, around: ProgramSurroundings): void {
  withReason(
    withJson(
      account
        .command('role <account>')
        .description('make an owner an admin of this server, or an ordinary user again')
        .addArgument(new Argument('<role>', 'the role').choices(['admin', 'user'])),
    ),
  ).action((named: string, role: AccountRole, options: { reason: string; json?: boolean }) =>
    change(around, named, role, options),
  )
}

async function change(
  around: ProgramSurroundings,
  named: string,
  role: AccountRole,
  options: { reason: string; json?: boolean },
): Promise<void> {
  await withDatabase(around, 'changing the role', async ({ db }) => {
    const { id } = await findAccount(db, named)
    const by = {
      actor: { kind: 'operator', name: around.userName },
      reason: options.reason,
    } as const
    const done = await db.transaction().execute((tx) => changeRole(tx, { accountId: id, role }, by))
    if ('refused' in done)
      throw new ProgramFault(exitCodes.conflict, `Account ${id} was left as it is. ${refusals[done.refused]}`)
    const changed = done.before !== role
    print(around, options, {
      data: { account_id: id, role, changed },
      text: changed
        ? `Account ${id} is now ${role} (it was ${done.before}).`
        : `Account ${id} is ${role} already; nothing was changed.`,
    })
  })
}
