import { Argument, type Command } from 'commander'
import { giveRole } from '../administration/accounts/service.ts'
import type { ProgramSurroundings } from '../app/surroundings.ts'
import type { AccountRole } from '../db/schema.ts'
import { withJson, withReason } from '../terminal/options.ts'
import { print } from '../terminal/output.ts'
import { findAccount } from './find-account.ts'
import { refusedPlainly } from './refused.ts'
import { withDatabase } from './session.ts'

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
  await withDatabase(around, 'changing the role', async ({ db, operator }) => {
    const { id } = await findAccount(db, named)
    const by = { operator, reason: options.reason }
    const { before, changed } = await refusedPlainly(giveRole(db, { accountId: id, role }, by))
    print(around, options, {
      data: { account_id: id, role, changed },
      text: changed
        ? `Account ${id} is now ${role} (it was ${before}).`
        : `Account ${id} is ${role} already; nothing was changed.`,
    })
  })
}
