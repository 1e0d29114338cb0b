import type { Command } from 'commander'
import { revokeAllKeys } from '../administration/accounts/access.ts'
import type { ProgramSurroundings } from '../app/surroundings.ts'
import { withJson, withReason } from '../terminal/options.ts'
import { print } from '../terminal/output.ts'
import { findAccount } from './find-account.ts'
import { withDatabase } from './session.ts'

/** Adds `key revoke-all`. */
export function keyRevokeAllCommand(key: Command, around: ProgramSurroundings): void {
  withReason(
    withJson(key.command('revoke-all <account>').description('end every key of an account now; its sessions stay')),
  ).action(async (named: string, { reason, ...options }: { reason: string; json?: boolean }) => {
    await withDatabase(around, 'revoking the keys', async ({ db, operator }) => {
      const { id } = await findAccount(db, named)
      const { revoked } = await revokeAllKeys(db, id, { operator, reason })
      print(around, options, {
        data: { account_id: id, revoked },
        text:
          revoked === 0n
            ? `Account ${id} has no key that is not revoked; nothing was changed.`
            : `${revoked} ${revoked === 1n ? 'key' : 'keys'} of account ${id} revoked. Calls that run are finished and billed; none begins any more.`,
      })
    })
  })
}
