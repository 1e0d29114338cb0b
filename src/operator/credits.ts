import { Argument, Option } from 'commander'
import { giveCredits, isSame } from '../administration/grants/service.ts'
import type { ProgramSurroundings } from '../app/surroundings.ts'
import type { Microcredits } from '../kernel/money.ts'
import { exitCodes, ProgramFault } from '../terminal/exit-codes.ts'
import { parseCredits, parseExpiry, parseText, withJson, withReason } from '../terminal/options.ts'
import { amount, fields, print, time } from '../terminal/output.ts'
import { creditsAlertCommand } from './credits-alert.ts'
import { findAccount } from './find-account.ts'
import type { AddCommands } from './program.ts'
import { refusedPlainly } from './refused.ts'
import { withDatabase } from './session.ts'

interface Wanted {
  readonly reason: string
  readonly bucket: 'promo' | 'bonus'
  readonly expires?: Date
  readonly idempotency?: string
  readonly json?: boolean
}

/** `farebox credits grant|alert`. */
export const creditsCommands: AddCommands = (program, around) => {
  const credits = program.command('credits').description('give Credits, and say when they run low')
  withReason(withJson(credits.command('grant').description('give Credits to an account')))
    .addArgument(new Argument('<account>', 'id, wallet or e-mail address'))
    .addArgument(new Argument('<credits>', 'such as 12.5').argParser(parseCredits))
    // purchased and refunded Credits come only from payments and refunds
    .addOption(new Option('--bucket <kind>', 'which kind of Credits').choices(['promo', 'bonus']).default('promo'))
    .option('--expires <when>', '90d, 12h, a date or an RFC 3339 time (default: never)', parseExpiry(around.clock))
    .option('--idempotency <id>', 'grants once for each id, however often the command is run', parseText)
    .action((account: string, micro: Microcredits, options: Wanted) => grant(around, account, micro, options))
  creditsAlertCommand(credits, around)
}

async function grant(
  around: ProgramSurroundings,
  named: string,
  amountMicro: Microcredits,
  options: Wanted,
): Promise<void> {
  if (amountMicro === 0n) throw new ProgramFault(exitCodes.usage, 'Nothing to give: the amount is 0 Credits.')
  await withDatabase(around, 'granting Credits', async ({ db, operator }) => {
    const account = await findAccount(db, named)
    const id = options.idempotency ?? around.random.uuid()
    const gift = { id, accountId: account.id, amountMicro, bucket: options.bucket, expiresAt: options.expires }
    const giving = giveCredits(db, gift, { operator, reason: options.reason })
    const { grant: given, repeated } = await refusedPlainly(giving)
    if (!isSame(given, gift)) {
      throw new ProgramFault(
        exitCodes.conflict,
        `--idempotency ${id} was used for another grant: ${amount(given.amount_micro)}, ${given.bucket}, to account ${given.account_id} (grant ${given.id}). Nothing was given now; use a new id.`,
      )
    }
    const said = fields([
      ['grant', String(given.id)],
      ['account', String(given.account_id)],
      ['amount', amount(given.amount_micro)],
      ['bucket', given.bucket],
      ['expires', given.expires_at === null ? 'never' : time(given.expires_at)],
      ['reason', given.reason],
      ['granted by', given.granted_by],
      ['idempotency', id],
    ])
    print(around, options, {
      data: { grant: given, idempotency: id, repeated },
      text: repeated ? `Given before, at ${time(given.created_at)}; nothing was given again.\n${said}` : said,
    })
  })
}
