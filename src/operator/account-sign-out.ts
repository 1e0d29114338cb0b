import type { Command } from 'commander'
import { signOut } from '../administration/accounts/access.ts'
import type { ProgramSurroundings } from '../app/surroundings.ts'
import { withJson, withReason } from '../terminal/options.ts'
import { print } from '../terminal/output.ts'
import { findAccount } from './find-account.ts'
import { withDatabase } from './session.ts'

/** Adds `account sign-out`. */
export function accountSignOutCommand(account: Command, around: ProgramSurroundings): void {
  withReason(
    withJson(account.command('sign-out <account>').description('end every session of an account; its keys stay')),
  ).action(async (named: string, { reason, ...options }: { reason: string; json?: boolean }) => {
    await withDatabase(around, 'ending the sessions', async ({ db, operator }) => {
      const { id } = await findAccount(db, named)
      const { ended } = await signOut(db, id, { operator, reason })
      print(around, options, {
        data: { account_id: id, ended },
        text:
          ended === 0n
            ? `Account ${id} was signed in nowhere; nothing was changed.`
            : `Account ${id} is signed out: ${ended} ${ended === 1n ? 'session' : 'sessions'} ended. API keys stay.`,
      })
    })
  })
}
