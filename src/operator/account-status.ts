import type { Command } from 'commander'
import type { ProgramSurroundings } from '../app/surroundings.ts'
import type { AccountStatus } from '../db/schema.ts'
import { setStatus } from '../identity/accounts/store.ts'
import { recordAction } from '../identity/audit-log/service.ts'
import { exitCodes, ProgramFault } from '../terminal/exit-codes.ts'
import { withJson, withReason } from '../terminal/options.ts'
import { print } from '../terminal/output.ts'
import { findAccount } from './find-account.ts'
import { withDatabase } from './session.ts'

/** What a verb does to an account of each status: a new status, nothing because it is so already, or a refusal with what to do instead. */
type Step = { readonly to: AccountStatus } | 'already' | { readonly refused: string }

/** Every verb on every status. A ban outweighs a deactivation; each is lifted by its own verb only. */
const steps = {
  ban: { active: { to: 'banned' }, deactivated: { to: 'banned' }, banned: 'already' },
  unban: {
    banned: { to: 'active' },
    active: 'already',
    deactivated: { refused: 'It is deactivated, not banned: use `farebox account reactivate`.' },
  },
  deactivate: {
    active: { to: 'deactivated' },
    deactivated: 'already',
    banned: { refused: 'It is banned, which is more: unban it first.' },
  },
  reactivate: {
    deactivated: { to: 'active' },
    active: 'already',
    banned: { refused: 'It is banned, not deactivated: use `farebox account unban`.' },
  },
} as const satisfies Record<string, Record<AccountStatus, Step>>

type Verb = keyof typeof steps

const descriptions: Record<Verb, string> = {
  ban: 'refuse everything the account asks for; calls that run are finished and billed',
  unban: 'lift a ban',
  deactivate: 'close the account; its Credits stay',
  reactivate: 'open a deactivated account again',
}

/** Adds `account ban|unban|deactivate|reactivate`. */
export function accountStatusCommands(account: Command, around: ProgramSurroundings): void {
  for (const verb of Object.keys(steps) as Verb[]) {
    withReason(withJson(account.command(`${verb} <account>`).description(descriptions[verb]))).action(
      (named: string, options: { reason: string; json?: boolean }) => change(around, verb, named, options),
    )
  }
}

async function change(
  around: ProgramSurroundings,
  verb: Verb,
  named: string,
  options: { reason: string; json?: boolean },
): Promise<void> {
  await withDatabase(around, 'changing the account', async ({ db }) => {
    const account = await findAccount(db, named)
    const step: Step = steps[verb][account.status]
    if (typeof step === 'object' && 'refused' in step)
      throw new ProgramFault(exitCodes.conflict, `Account ${account.id} was left as it is. ${step.refused}`)
    if (step !== 'already')
      await db.transaction().execute(async (tx) => {
        await setStatus(tx, account.id, step.to)
        await recordAction(tx, {
          actor: { kind: 'operator', name: around.userName },
          action: `${verb}.account`,
          targetId: account.id,
          before: { status: account.status },
          after: { status: step.to },
          reason: options.reason,
        })
      })
    const status = step === 'already' ? account.status : step.to
    print(around, options, {
      data: { account_id: account.id, status, changed: step !== 'already' },
      text:
        step === 'already'
          ? `Account ${account.id} is ${status} already; nothing was changed.`
          : `Account ${account.id} is now ${status} (it was ${account.status}).`,
    })
  })
}
