import { type Argument, type Command, InvalidArgumentError } from 'commander'
import type { ProgramSurroundings } from '../app/surroundings.ts'
import { environmentTable } from '../config/environment.ts'
import type { Microcredits } from '../kernel/money.ts'
import type { Action, Decided, Decision, ReviewDeps } from '../payments/orders/review/decision.ts'
import { exitCodes, ProgramFault } from '../terminal/exit-codes.ts'
import { parseCredits, withJson, withReason } from '../terminal/options.ts'
import { amount, print, time } from '../terminal/output.ts'
import { refusedPlainly } from './refused.ts'
import { withDatabase } from './session.ts'

/** How payments of one rail are named and decided from a terminal. */
export interface DecidedRail<Name> {
  /** What names a payment; it gives a `Name`. */
  readonly argument: () => Argument
  /** Hands the decision to the rail's own review. */
  readonly decide: (deps: ReviewDeps, name: Name, wanted: Decision, options: DecisionOptions) => Promise<Decided>
  /** The payment's name in JSON. */
  readonly data: (name: Name) => object
}

/** What the verbs take; `account` only where a rail offers it. */
export interface DecisionOptions {
  readonly reason: string
  readonly json?: boolean
  readonly credits?: Microcredits
  readonly account?: string
  readonly tx?: string
}

/** Adds the verbs `credit`, `refund` and `dismiss` to a rail's commands. Gives `credit`, to which a rail may add options. */
export function addDecisions<Name>(parent: Command, around: ProgramSurroundings, rail: DecidedRail<Name>): Command {
  const verb = (action: Action, description: string): Command =>
    withReason(withJson(parent.command(action).description(description).addArgument(rail.argument()))).action(
      (name: Name, options: DecisionOptions) => decide(around, rail, { action, name, options }),
    )
  const credit = verb('credit', 'give the Credits for what arrived').option(
    '--credits <credits>',
    'less than what arrived is worth',
    parseCredits,
  )
  verb('refund', 'record that the money was sent back').requiredOption(
    '--tx <hash>',
    'the transaction that sent it back',
    parseHash,
  )
  verb('dismiss', 'close it without Credits')
  return credit
}

async function decide<Name>(
  around: ProgramSurroundings,
  rail: DecidedRail<Name>,
  { action, name, options }: { action: Action; name: Name; options: DecisionOptions },
): Promise<void> {
  await withDatabase(around, 'deciding', async ({ db, operator }) => {
    const deps = { db, clock: around.clock, aloneLimitMicro: aloneLimit(around) }
    const wanted: Decision = {
      action,
      reason: options.reason,
      operator,
      ...(options.credits === undefined ? {} : { creditMicro: options.credits }),
      ...(options.tx === undefined ? {} : { refundTxHash: options.tx }),
    }
    const decided = await refusedPlainly(rail.decide(deps, name, wanted, options))
    print(around, options, {
      data: { ...rail.data(name), action, ...decided },
      text: said(action, String(name), decided),
    })
  })
}

function said(action: Action, name: string, decided: Decided): string {
  if (decided.outcome === 'proposed')
    return `Proposed: ${action} ${name}, ${amount(decided.creditMicro)}. This is above what one operator may decide: another one has to run the same command before ${time(decided.until)}.`
  const { creditMicro, takenMicro } = decided
  const taken = takenMicro === undefined ? '' : ` Taken back: ${amount(takenMicro)}.`
  const done = {
    credit: `Credited ${amount(creditMicro)}.`,
    refund: `Recorded as refunded.${taken}`,
    dismiss: `Dismissed.${taken}`,
  }
  return done[action]
}

/** Above this value a decision takes two operators. Refuses a setting that is no amount. */
function aloneLimit(around: ProgramSurroundings): Microcredits {
  const { parser, fallback } = environmentTable.FAREBOX_REVIEW_ALONE_CREDITS
  const text = around.environment.FAREBOX_REVIEW_ALONE_CREDITS
  if (text === undefined || text === '') return fallback
  const limit = parser.parse(text)
  if (limit === undefined)
    throw new ProgramFault(
      exitCodes.usage,
      'FAREBOX_REVIEW_ALONE_CREDITS takes Credits as a plain decimal, such as 100.',
    )
  return limit
}

/** A transaction hash, in lower case. */
function parseHash(text: string): string {
  if (/^0x[0-9a-f]{64}$/i.test(text)) return text.toLowerCase()
  throw new InvalidArgumentError('It takes a transaction hash: 0x and 64 hexadecimal digits.')
}
