import type { Command } from 'commander'
import { InvalidArgumentError } from 'commander'
import { setAlert } from '../administration/accounts/service.ts'
import type { ProgramSurroundings } from '../app/surroundings.ts'
import type { Microcredits } from '../kernel/money.ts'
import { parseCredits, withJson, withReason } from '../terminal/options.ts'
import { amount, print } from '../terminal/output.ts'
import { findAccount } from './find-account.ts'
import { refusedPlainly } from './refused.ts'
import { withDatabase } from './session.ts'

interface Alert {
  readonly below: Microcredits | 'default'
  readonly reason: string
  readonly json?: boolean
}

/** Adds `credits alert`: below which balance an account is told, in place of the setting for all. */
export function creditsAlertCommand(credits: Command, around: ProgramSurroundings): void {
  withReason(
    withJson(
      credits.command('alert <account>').description('say below which balance an account is told (balance.low)'),
    ),
  )
    .requiredOption('--below <credits>', 'such as 12.5; 0 for never; `default` for the setting of all', parseBelow)
    .action((account: string, options: Alert) => set(around, account, options))
}

const parseBelow = (text: string): Alert['below'] => {
  if (text === 'default') return text
  try {
    return parseCredits(text)
  } catch {
    throw new InvalidArgumentError('It takes Credits as a plain decimal with at most six places, or `default`.')
  }
}

async function set(around: ProgramSurroundings, named: string, { below, reason, json }: Alert): Promise<void> {
  await withDatabase(around, 'setting the alert', async ({ db, operator }) => {
    const { id } = await findAccount(db, named)
    const own = below === 'default' ? undefined : below
    await refusedPlainly(setAlert(db, { accountId: id, belowMicro: own }, { operator, reason }))
    print(around, json ? { json } : {}, {
      data: { account_id: id, below_micro: own ?? null },
      text: `Account ${id} is told when its balance falls below ${own === undefined ? 'the setting for all' : amount(own)}.`,
    })
  })
}
