import type { Command } from 'commander'
import { changeStatus } from '../administration/accounts/service.ts'
import { type StatusVerb, statusVerbs } from '../administration/accounts/status.ts'
import type { ProgramSurroundings } from '../app/surroundings.ts'
import { withJson, withReason } from '../terminal/options.ts'
import { print } from '../terminal/output.ts'
import { findAccount } from './find-account.ts'
import { refusedPlainly } from './refused.ts'
import { withDatabase } from './session.ts'

/** Adds `account ban|unban|deactivate|reactivate`. */
export function accountStatusCommands(account: Command, around: ProgramSurroundings): void {
  for (const verb of Object.keys(statusVerbs) as StatusVerb[]) {
    withReason(withJson(account.command(`${verb} <account>`).description(statusVerbs[verb]))).action(
      (named: string, options: { reason: string; json?: boolean }) => change(around, verb, named, options),
    )
  }
}

async function change(
  around: ProgramSurroundings,
  verb: StatusVerb,
  named: string,
  options: { reason: string; json?: boolean },
): Promise<void> {
  await withDatabase(around, 'changing the account', async ({ db, operator }) => {
    const { id } = await findAccount(db, named)
    const by = { operator, reason: options.reason }
    const { status, before, changed } = await refusedPlainly(changeStatus(db, { accountId: id, verb }, by))
    print(around, options, {
      data: { account_id: id, status, changed },
      text: changed
        ? `Account ${id} is now ${status} (it was ${before}).`
        : `Account ${id} is ${status} already; nothing was changed.`,
    })
  })
}
